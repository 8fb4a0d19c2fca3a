// SPDX-License-Identifier: Apache-2.0
#include "bench/run/access.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <memory>

#include "bench/backends/nccl/transport.hpp"
#include "bench/run/rank_context.hpp"
#include "bench/run/transport_report.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/verbs/library.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kMib = 1UL << 20U;

Result<std::vector<std::string>> listed_hcas() {
  TRY_ASSIGN(const auto library, open_verbs());
  int count = 0;
  const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> list(library.list(&count),
                                                                  library.free_list);
  std::vector<std::string> names;
  for (int at = 0; list && at < count; ++at) names.emplace_back(library.name(list.get()[at]));
  return names;
}

// "mlx5_ib0", "mlx5_ib0 and 7 more"
std::string first_of(const std::vector<std::string>& names) {
  if (names.size() == 1) return names.front();
  return fmt::format("{} and {} more", names.front(), names.size() - 1);
}

bool any_contains(const std::vector<std::string>& texts, std::string_view first,
                  std::string_view second) {
  return std::ranges::any_of(texts, [&](std::string_view text) {
    return text.find(first) != std::string_view::npos &&
           text.find(second) != std::string_view::npos;
  });
}

}  // namespace

std::string problem_with_hcas(const Root& root, const Result<std::vector<std::string>>& listed) {
  std::vector<std::string> closed;
  std::string why;
  std::vector<std::string> unlisted;
  for (const auto& device :
       root.list("/sys/class/infiniband_verbs").value_or(std::vector<std::string>())) {
    const auto name = root.read_line(fmt::format("/sys/class/infiniband_verbs/{}/ibdev", device));
    if (!name) continue;  // abi_version
    const auto path = fmt::format("/dev/infiniband/{}", device);
    if (const auto opened = root.open(path, O_RDWR | O_NONBLOCK); !opened) {
      closed.push_back(path);
      why = opened.error().message;
    } else if (listed && std::ranges::count(*listed, *name) == 0) {
      unlisted.push_back(printable(*name, 64));
    }
  }
  if (!closed.empty()) {
    return fmt::format(
        "{} cannot be used ({}): give the container the HCAs (the RDMA resource of Kubernetes, "
        "--device /dev/infiniband)",
        first_of(closed), why);
  }
  constexpr std::string_view kRemedy = "install ibverbs-providers in the image";
  if (!listed) return fmt::format("{}: {}", listed.error().message, kRemedy);
  if (unlisted.empty()) return {};
  return fmt::format("libibverbs has no provider for {}: {}", first_of(unlisted), kRemedy);
}

std::string problem_with_locked_memory(std::uint64_t limit_bytes, bool ipc_lock) {
  if (limit_bytes == RLIM_INFINITY || ipc_lock) return {};
  return fmt::format(
      "only {} KiB of memory may be locked: give the container the capability IPC_LOCK, or "
      "--ulimit memlock=-1",
      limit_bytes / 1024);
}

std::string problem_with_shared_memory(std::uint64_t bytes) {
  constexpr std::uint64_t kEnough = 1024 * kMib;  // for eight ranks, as NVIDIA recommends
  if (bytes >= kEnough) return {};
  return fmt::format(
      "/dev/shm has {} MiB, expected at least {}: give the container --shm-size=1g, or an emptyDir "
      "in memory (Kubernetes)",
      bytes / kMib, kEnough / kMib);
}

AccessProblems observe_access() {
  const Root root;
  AccessProblems problems{.hcas = problem_with_hcas(root, listed_hcas())};
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    problems.locked_memory = problem_with_locked_memory(limit.rlim_cur, has_ipc_lock(root));
  }
  struct statvfs shared {};
  if (::statvfs("/dev/shm", &shared) == 0) {
    problems.shared_memory = problem_with_shared_memory(shared.f_blocks * shared.f_frsize);
  }
  return problems;
}

std::string access_lines(std::string_view log, const AccessProblems& problems) {
  if (!parse_transport(log).networks.contains("Socket")) return {};
  std::string lines;
  for (const auto& problem : {problems.hcas, problems.locked_memory}) {
    if (!problem.empty()) lines += fmt::format("{}{}\n", kAccessLine, problem);
  }
  return lines;
}

std::string explain_failure(const std::vector<std::string>& texts, const AccessProblems& problems) {
  if (any_contains(texts, "ibv_", "Cannot allocate memory")) return problems.locked_memory;
  if (any_contains(texts, "network IB", "not found") ||
      any_contains(texts, "initialize any NET plugin", "")) {
    return problems.hcas;
  }
  if (any_contains(texts, "no algorithm/protocol available", "was set to")) {
    return "NCCL_ALGO or NCCL_PROTO leaves nothing for this collective: set another";
  }
  if (any_contains(texts, "CUDA_ERROR_OUT_OF_MEMORY", "") ||
      any_contains(texts, "Cuda failure", "out of memory")) {
    return "the GPU has too little free memory: end what else runs on it, or give a smaller size";
  }
  const bool shared = any_contains(texts, "/dev/shm", "") ||
                      any_contains(texts, "shared memory segment", "") ||
                      any_contains(texts, "fallocate", "No space left on device");
  return shared ? problems.shared_memory : std::string();
}

std::string explain_failure(const RankContext& self, const Error& error) {
  if (self.kind != BackendKind::nccl) return {};
  auto texts = nccl_warnings();
  texts.push_back(error.message);
  return explain_failure(texts, observe_access());
}

}  // namespace muster::bench
