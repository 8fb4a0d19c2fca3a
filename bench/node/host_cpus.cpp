// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <iterator>
#include <set>
#include <thread>
#include <utility>

#include "bench/backends/host_backend.hpp"
#include "bench/backends/nccl/binding.hpp"
#include "bench/node/host.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"

namespace muster::bench::node {
namespace {

constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;

tl::unexpected<Error> failed(std::string_view what) {
  return make_error("{}: {}", what, errno_text(errno));
}

// "32768K" of a cache.
std::uint64_t cache_size(const Root& root, std::string_view folder) {
  const auto line = root.read_line(fmt::format("{}/size", folder));
  if (!line || !line->ends_with('K')) return 0;
  const auto kib = parse_unsigned(std::string_view(*line).substr(0, line->size() - 1));
  return kib ? *kib << 10U : 0;
}

// The folder of a CPU's last cache, or an empty text.
std::string last_cache(const Root& root, unsigned cpu) {
  std::string last;
  for (unsigned index = 0; index < 8; ++index) {
    const auto folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}", cpu, index);
    if (!root.exists(folder)) break;
    last = folder;
  }
  return last;
}

}  // namespace

Result<std::vector<NumaCpus>> numa_cpus(const Root& root, const std::vector<unsigned>& own) {
  constexpr std::string_view kNodes = "/sys/devices/system/node";
  const auto online = root.read_line(fmt::format("{}/online", kNodes));
  if (!online && !online.error().missing) return tl::unexpected(online.error());
  if (!online) return std::vector<NumaCpus>{{.node = 0, .cpus = own}};
  TRY_ASSIGN(const auto ids, parse_cpu_list(*online));
  std::vector<NumaCpus> nodes;
  for (const unsigned id : ids) {
    TRY_ASSIGN(const auto text, root.read(fmt::format("{}/node{}/cpulist", kNodes, id)));
    const auto line = trim(text);
    TRY_ASSIGN(const auto all,
               line.empty() ? Result<std::vector<unsigned>>() : parse_cpu_list(line));
    NumaCpus node{.node = id, .cpus = {}};
    std::ranges::set_intersection(all, own, std::back_inserter(node.cpus));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::uint64_t cache_bytes(const Root& root, const std::vector<unsigned>& cpus) {
  std::set<std::string> known;
  std::uint64_t bytes = 0;
  for (const unsigned cpu : cpus) {
    const auto folder = last_cache(root, cpu);
    const auto shared = root.read_line(fmt::format("{}/shared_cpu_list", folder));
    if (shared && known.insert(*shared).second) bytes += cache_size(root, folder);
  }
  return bytes;
}

std::uint64_t memory_available(const Root& root) { return host_memory_available(root).value_or(0); }

std::string restriction_of_cpus(const Root& root, const std::vector<unsigned>& own) {
  const auto online = read_and_parse(root, "/sys/devices/system/cpu/online", parse_cpu_list);
  const auto all = online ? online->size() : own.size();
  auto usable = static_cast<double>(own.size());
  for_each_group(root, [&](const std::string& folder) {
    const auto line = root.read_line(fmt::format("{}/cpu.max", folder));  // "400000 100000"
    const auto words = split_words(line ? *line : std::string_view());
    if (words.size() != 2) return;
    const auto quota = parse_unsigned(words[0]);
    const auto period = parse_unsigned(words[1]);
    if (!quota || !period || *period == 0) return;
    usable = std::min(usable, static_cast<double>(*quota) / static_cast<double>(*period));
  });
  return usable < static_cast<double>(all) ? fmt::format("{:.3g} of {} CPUs", usable, all) : "";
}

Result<void> on_each(std::span<const unsigned> cpus, const std::function<void(std::size_t)>& work) {
  std::vector<Result<void>> bound(cpus.size());
  Gate all_bound(cpus.size());
  // The threads wait for each other in `work`, so either all start it or none does.
  const auto failed = [&] { return std::ranges::find(bound, false, &Result<void>::has_value); };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    threads.emplace_back([&, i] {
      bound[i] = bind_thread(0, {cpus[i]});
      all_bound.pass();
      if (failed() == bound.end()) work(i);
    });
  }
  for (auto& thread : threads) thread.join();
  if (failed() == bound.end()) return {};
  return make_error("run on CPU {}: {}", cpus[static_cast<std::size_t>(failed() - bound.begin())],
                    failed()->error().message);
}

void Gate::pass() {
  constexpr int kSpins = 4096;  // before yielding, since there may be too few CPUs
  const auto round = round_.load(std::memory_order_relaxed);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    waiting_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    return;
  }
  for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
    if (spins > kSpins) std::this_thread::yield();
  }
}

Result<FreshMemory> FreshMemory::reserve(std::uint64_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast,performance-no-int-to-ptr): the macro's
  if (memory == MAP_FAILED) {
    return failed(
        fmt::format("reserve {} of memory", to_string(Bytes{static_cast<double>(bytes)})));
  }
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // may fail
  return FreshMemory(memory, bytes);
}

FreshMemory::FreshMemory(FreshMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}

FreshMemory::~FreshMemory() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

Result<void> FreshMemory::bind_to(unsigned numa_node) {
  constexpr int kBind = 2;  // MPOL_BIND of linux/mempolicy.h
  std::array<unsigned long, 16> nodes{};
  if (numa_node >= nodes.size() * kBits)
    return make_error("NUMA node numbers above 1023 are unsupported");
  nodes.at(numa_node / kBits) = 1UL << (numa_node % kBits);
  const auto done =
      ::syscall(SYS_mbind, memory_, bytes_, kBind, nodes.data(), nodes.size() * kBits, 0U);
  if (done == 0) return {};
  return failed(fmt::format("bind memory to NUMA node {}", numa_node));
}

}  // namespace muster::bench::node
