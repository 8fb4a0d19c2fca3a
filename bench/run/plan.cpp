// SPDX-License-Identifier: Apache-2.0
#include "bench/run/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "bench/collectives/pattern.hpp"
#include "bench/results/bandwidth.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/bench.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kSmallest = 8;
constexpr std::uint64_t kLargestOnHost = 64ULL << 20U;
// Of what is free, one part of so many is left to the library, which allocates while it works.
constexpr std::uint64_t kParts = 10;
constexpr std::uint64_t kLargestOnGpu = 8ULL << 30U;

// In place a rank needs no other.
std::uint64_t buffers_of(const BenchCommand& command) {
  return command.placement == Placement::in ? 1 : 2;
}

// The least size with an element for each rank.
std::uint64_t least_size(const BenchCommand& command, int ranks) {
  if (!moves_data(command.collective)) return 0;
  Operation operation{.collective = command.collective, .type = command.type, .bytes = 1};
  const auto is_empty = [&](std::uint64_t bytes) {
    operation.bytes = bytes;
    return shape_of(operation, 0, ranks).count == 0;
  };
  std::uint64_t enough = 1;
  while (is_empty(enough)) enough *= 2;
  for (std::uint64_t little = enough / 2; enough - little > 1;) {
    const auto middle = little + (enough - little) / 2;
    (is_empty(middle) ? little : enough) = middle;
  }
  return enough;
}

Sizes without_empty(Sizes sizes, const BenchCommand& command, int ranks) {
  const auto least = least_size(command, ranks);
  if (!command.sizes.empty() || sizes.bytes.front() >= least || sizes.bytes.back() < least) {
    return sizes;
  }
  std::erase_if(sizes.bytes, [least](std::uint64_t size) { return size < least; });
  if (!sizes.remark.empty()) sizes.remark += "; ";
  sizes.remark +=
      fmt::format("sizes begin at {}: a smaller one has no element for each of {} ranks",
                  size_text(sizes.bytes.front()), ranks);
  return sizes;
}

// The largest size that a limit for so many nodes names; 0 where none does.
std::uint64_t largest_limit(const Profile& profile, Collective collective, int nodes) {
  double largest = 0;
  if (nodes == 1 && collective == Collective::all_reduce) {
    largest = profile.bench->node_all_reduce.size.value_or(Bytes{}).value;
  }
  for (const auto& limit : job_limits(profile, collective)) {
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
          .graph = command.graph,
          .together = command.together,
          .cpu_time = command.cpu_time};
}

Result<std::optional<Room>> least_room(const std::vector<std::string>& told) {
  std::optional<Room> least;
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    if (told[rank].empty()) continue;
    TRY_ASSIGN(const auto bytes, parse_unsigned(told[rank]));
    if (!least || bytes < least->bytes) least = {static_cast<int>(rank), bytes};
  }
  return least;
}

Sizes sizes_of(const BenchCommand& command, const Profile& profile, const RunFacts& facts,
               const std::optional<Room>& room) {
  if (!moves_data(command.collective)) return {.bytes = {0}, .remark = {}};
  const auto limit = facts.gpus ? largest_limit(profile, command.collective, facts.nodes) : 0;
  const auto usual = facts.gpus ? kLargestOnGpu : kLargestOnHost;
  const auto smallest = std::bit_ceil(std::max(kSmallest, least_size(command, facts.ranks)));
  const auto wanted = limit == 0 ? usual : limit;
  const auto fitting = room ? room->bytes / kParts * (kParts - 1) / buffers_of(command) : wanted;
  if (fitting >= wanted || !command.sizes.empty() || command.max) {
    return without_empty({sizes_of(command, smallest, wanted), {}}, command, facts.ranks);
  }
  Sizes sizes{.bytes = sizes_of(command, smallest, std::max(fitting, smallest)), .remark = {}};
  sizes.remark = fmt::format(
      "sizes end at {}: {} of {} for each rank would not fit: rank {} has {} free",
      size_text(sizes.bytes.back()), buffers_of(command) == 1 ? "one buffer" : "two buffers",
      size_text(wanted), room->rank, size_text(room->bytes));
  return without_empty(std::move(sizes), command, facts.ranks);
}

std::vector<BenchCommand> variants_of(const BenchCommand& command) {
  std::vector<BenchCommand> variants;
  auto types = command.types;
  auto reductions = command.reductions;
  if (types.empty() || !moves_data(command.collective)) types = {command.type};
  if (reductions.empty() || !reduces(command.collective)) reductions = {command.reduction};
  const bool one = types.size() * reductions.size() == 1;
  for (const auto type : types) {
    for (const auto reduction : reductions) {
      if (!one && reduces(command.collective) && !can_verify(type, reduction)) continue;
      auto& variant = variants.emplace_back(command);
      variant.type = type;
      variant.reduction = reduction;
    }
  }
  return variants;
}

Result<std::vector<Operation>> operations_of(const BenchCommand& command,
                                             const std::vector<std::uint64_t>& sizes,
                                             const Backend& backend) {
  if (command.root >= backend.ranks()) {
    return make_error(
        fmt::format("--root: there is no rank {} among {}", command.root, backend.ranks()));
  }
  const auto [smallest, largest] = std::ranges::minmax(sizes);
  if (const auto least = least_size(command, backend.ranks()); smallest < least) {
    return make_error(fmt::format("{} of {} among {} ranks needs {} or more, got {}",
                                  to_string(command.collective), to_string(command.type),
                                  backend.ranks(), size_text(least), size_text(smallest)));
  }
  if (reduces(command.collective) && !can_verify(command.type, command.reduction)) {
    return make_error(
        fmt::format("--op {} of {} cannot be verified: it is off by as much as the "
                    "type can tell apart",
                    to_string(command.reduction), to_string(command.type)));
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
                              .bytes = largest};
    auto can = can_run(operation, backend.ranks());
    if (can) can = backend.supports(operation, pace_of(command));
    if (can) {
      operations.push_back(operation);
    } else if (!refused) {
      refused = can.error();
    }
  }
  if (operations.empty()) return tl::unexpected(*refused);
  return operations;
}

}  // namespace muster::bench
