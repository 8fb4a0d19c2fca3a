// SPDX-License-Identifier: Apache-2.0
#include "bench/app/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace muster::bench {
namespace {

constexpr std::uint64_t kSmallest = 8;
constexpr std::uint64_t kLargestOnHost = 64ULL << 20U;
constexpr std::uint64_t kLargestOnGpu = 8ULL << 30U;

// The largest size that a limit for so many nodes names; 0 where none does.
std::uint64_t largest_limit(const Profile& profile, Collective collective, int nodes) {
  if (collective != Collective::all_reduce) return 0;
  double largest = 0;
  if (nodes == 1) largest = profile.bench.node_all_reduce.size.value_or(Bytes{}).value;
  for (const auto& limit : profile.bench.job_all_reduce) {
    if (nodes == 1 || nodes < limit.nodes_at_least.value_or(1)) continue;
    largest = std::max(largest, limit.size.value_or(Bytes{}).value);
  }
  return static_cast<std::uint64_t>(largest);
}

}  // namespace

Pace pace_of(const BenchCommand& command) {
  return {.warm_up = command.warm_up,
          .iterations = command.iterations,
          .pipelined = command.pipelined,
          .graph = command.graph};
}

std::vector<std::uint64_t> sizes_of(const BenchCommand& command,
                                    const Profile& profile,
                                    int nodes,
                                    bool gpus) {
  const auto limit = gpus ? largest_limit(profile, command.collective, nodes) : 0;
  const auto usual = gpus ? kLargestOnGpu : kLargestOnHost;
  return sizes_of(command, kSmallest, limit == 0 ? usual : limit);
}

Result<std::vector<Operation>> operations_of(const BenchCommand& command,
                                             std::uint64_t size,
                                             const Backend& backend) {
  if (command.root >= backend.ranks()) {
    return make_error(
        fmt::format("--root: there is no rank {} among {}", command.root, backend.ranks()));
  }
  std::vector<Operation> operations;
  std::optional<Error> refused;
  for (const bool in_place : {false, true}) {
    if (command.placement == (in_place ? Placement::out : Placement::in)) continue;
    const Operation operation{.collective = command.collective,
                              .type = command.type,
                              .reduction = command.reduction,
                              .root = command.root,
                              .in_place = in_place,
                              .bytes = size};
    if (auto can = backend.supports(operation, pace_of(command)); can) {
      operations.push_back(operation);
    } else if (!refused) {
      refused = can.error();
    }
  }
  if (operations.empty()) return tl::unexpected(*refused);
  return operations;
}

}  // namespace muster::bench
