// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/binding.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

#include "bench/backends/nccl/library.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"

namespace muster::bench {
namespace {

using Cpus = std::vector<unsigned>;       // ascending
using Mask = std::vector<unsigned long>;  // as in cpu_set_t
constexpr std::size_t kMaxCpus = 1U << 16U;
constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;

std::size_t bytes_of(const Mask& mask) { return mask.size() * sizeof(unsigned long); }

// Binds all threads, including those of the driver and the group. A thread may end at any time.
Result<void> bind_all_threads(const Cpus& cpus) {
  std::error_code failure;
  for (std::filesystem::directory_iterator at("/proc/self/task", failure), end;
       !failure && at != end; at.increment(failure)) {
    const auto thread = parse_unsigned(at->path().filename().native());
    if (!thread) continue;
    const auto bound = bind_thread(static_cast<pid_t>(*thread), cpus);
    if (!bound && errno != ESRCH) return bound;
  }
  if (failure) return make_error("list threads: {}", failure.message());
  return {};
}

Result<Cpus> cpu_list(const Root& root, std::string_view path) {
  TRY_ASSIGN(const auto text, root.read_line(path));
  return parse_cpu_list(text);
}

constexpr auto kPatience = std::chrono::seconds(30);  // with 8 GPUs, this takes seconds

Result<int> count_gpus(const cuda::Library& library) {
  TRY(call(library, library.init, 0));
  int count = 0;
  TRY(call(library, library.device_count, &count));
  if (count < 1) return tl::unexpected(trouble(library, library.init.name, cuda::kNoDevice));
  return count;
}

// The child answers with the number, or with one of these marks and the error.
constexpr char kMissing = '-';
constexpr char kFailed = '!';

std::string answer_of(const Result<int>& count) {
  if (count) return fmt::format("{}", *count);
  return fmt::format("{}{}", count.error().missing ? kMissing : kFailed, count.error().message);
}

Result<int> count_in(std::string_view answer) {
  if (answer.starts_with(kMissing)) return make_missing(std::string(answer.substr(1)));
  if (answer.starts_with(kFailed)) return make_error(std::string(answer.substr(1)));
  TRY_ASSIGN(const auto count, parse_unsigned(answer));
  return static_cast<int>(count);
}

}  // namespace

Result<int> usable_gpus(const std::string& cuda_file) {
  TRY_ASSIGN(const auto library, cuda::open_library(cuda_file));
  Children children;
  children.start("cuda", kPatience, [&library] { return answer_of(count_gpus(library)); });
  const auto answer = children.next().second;
  if (answer.end != ChildAnswer::End::answered) {
    return make_error("the CUDA driver gives {}", answer.reason);
  }
  return count_in(answer.bytes);
}

Result<std::vector<unsigned>> own_cpus() {
  Mask mask(kMaxCpus / kBits);
  if (::sched_getaffinity(0, bytes_of(mask), reinterpret_cast<cpu_set_t*>(mask.data())) != 0) {
    return make_error("sched_getaffinity: {}", std::strerror(errno));
  }
  Cpus cpus;
  for (unsigned cpu = 0; cpu < kMaxCpus; ++cpu) {
    if ((mask[cpu / kBits] >> (cpu % kBits) & 1U) != 0) cpus.push_back(cpu);
  }
  return cpus;
}

Result<void> bind_thread(pid_t thread, const std::vector<unsigned>& cpus) {
  Mask mask(kMaxCpus / kBits);
  for (const unsigned cpu : cpus) mask[cpu / kBits] |= 1UL << (cpu % kBits);
  const auto* set = reinterpret_cast<const cpu_set_t*>(mask.data());
  if (::sched_setaffinity(thread, bytes_of(mask), set) == 0) return {};
  return make_error(std::strerror(errno));
}

Result<Ordinal> choose_gpu(int rank, int local_rank, int gpus, std::string_view visible) {
  const auto names = visible.empty() ? std::vector<std::string_view>{} : split(visible, ',');
  Ordinal chosen{.ordinal = names.size() == 1 && gpus == 1 ? 0 : local_rank};
  if (local_rank < 0 || chosen.ordinal >= gpus) {
    return make_error(
        "rank {} is local rank {}, and only {} {} visible{}", rank, local_rank, gpus,
        gpus == 1 ? "GPU is" : "GPUs are",
        visible.empty() ? "" : fmt::format(" (CUDA_VISIBLE_DEVICES={})", printable(visible, 100)));
  }
  const auto index = static_cast<std::size_t>(chosen.ordinal);
  if (index >= names.size()) {
    chosen.device_id = fmt::format("gpu{}", index);
  } else if (const auto number = parse_unsigned(trim(names[index]))) {
    chosen.device_id = fmt::format("gpu{}", *number);
  }
  return chosen;
}

std::string bind_to_gpu(std::string_view pci_address, const Root& root) {
  const auto unbound = [](std::string_view why) {
    return fmt::format("this rank is not bound to CPUs: {}", why);
  };
  const auto local =
      cpu_list(root, fmt::format("/sys/bus/pci/devices/{}/local_cpulist", pci_address));
  const auto online = cpu_list(root, "/sys/devices/system/cpu/online");
  const auto own = own_cpus();
  for (const auto* each : {&local, &online, &own}) {
    if (!*each) return unbound(each->error().message);
  }
  if (own->size() < online->size()) {
    return unbound(
        fmt::format("it may run only on {} of {}", to_cpu_list(*own), to_cpu_list(*online)));
  }
  Cpus wanted;
  std::ranges::set_intersection(*own, *local, std::back_inserter(wanted));
  if (wanted.empty()) return unbound(fmt::format("none is local to the GPU at {}", pci_address));
  if (wanted == *own) return unbound(fmt::format("all are local to the GPU at {}", pci_address));
  if (auto bound = bind_all_threads(wanted); !bound) return unbound(bound.error().message);
  return fmt::format("this rank runs on CPUs {}, which are local to the GPU at {}",
                     to_cpu_list(wanted), pci_address);
}

}  // namespace muster::bench
