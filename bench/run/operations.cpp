// SPDX-License-Identifier: Apache-2.0
#include "bench/run/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "bench/collectives/pattern.hpp"
#include "bench/results/bandwidth.hpp"
#include "bench/results/row.hpp"
#include "bench/run/meeting.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/job_limit.hpp"

namespace muster::bench {
namespace {

// In place, a rank needs one buffer.
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

// The largest size of the profile's limits for this memory and number of nodes; 0 for none.
std::uint64_t largest_limit(const Profile& profile, Collective collective, const RunFacts& facts) {
  const JobConditions run{.nodes = facts.nodes,
                          .memory = facts.gpus ? BenchMemory::gpu : BenchMemory::host};
  double largest = 0;
  const auto add = [&](const JobLimit& limit) {
    if (may_hold(limit, run)) largest = std::max(largest, limit.size.value_or(Bytes{}).value);
  };
  if (facts.nodes > 1) {
    std::ranges::for_each(job_limits(profile, collective), add);
  } else if (collective == Collective::all_reduce) {
    add(profile.bench->node_all_reduce);
  }
  return static_cast<std::uint64_t>(largest);
}

void append(std::vector<Samples>& target, std::vector<Samples> more) {
  for (auto& each : more) {
    const auto found = std::ranges::find(target, each.rank, &Samples::rank);
    if (found == target.end()) {
      target.push_back(std::move(each));
    } else {
      std::ranges::copy(each.seconds, std::back_inserter(found->seconds));
      std::ranges::copy(each.cpu_seconds, std::back_inserter(found->cpu_seconds));
    }
  }
}

// Keeps the first of each rank.
void add_first(std::vector<Wrong>& all, const std::vector<Wrong>& more) {
  for (const auto& each : more) {
    if (std::ranges::find(all, each.rank, &Wrong::rank) == all.end()) all.push_back(each);
  }
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

std::optional<LeastMemory> least_memory(const std::vector<std::optional<std::uint64_t>>& free) {
  std::optional<LeastMemory> least;
  for (std::size_t rank = 0; rank < free.size(); ++rank) {
    const auto bytes = free[rank].value_or(UINT64_MAX);
    if (bytes < (least ? least->bytes : UINT64_MAX)) least = {static_cast<int>(rank), bytes};
  }
  return least;
}

Sizes sizes_of(const BenchCommand& command, const Profile& profile, const RunFacts& facts,
               const std::optional<LeastMemory>& memory) {
  constexpr std::uint64_t kSmallest = 8;
  constexpr std::uint64_t kLargestOnHost = 64ULL << 20U;
  constexpr std::uint64_t kLargestOnGpu = 8ULL << 30U;
  constexpr std::uint64_t kLibraryShare = 10;  // a tenth of the free memory is the library's
  if (!moves_data(command.collective)) return {.bytes = {0}};
  const auto limit = largest_limit(profile, command.collective, facts);
  const auto usual = facts.gpus ? kLargestOnGpu : kLargestOnHost;
  const auto wanted = limit == 0 ? usual : limit;
  const auto smallest = std::bit_ceil(std::max(kSmallest, least_size(command, facts.ranks)));
  const auto fitting =
      memory ? memory->bytes / kLibraryShare * (kLibraryShare - 1) / buffers_of(command) : wanted;
  if (fitting >= wanted || !command.sizes.empty() || command.max) {
    return without_empty({sizes_of(command, smallest, wanted), {}}, command, facts.ranks);
  }
  Sizes sizes{.bytes = sizes_of(command, smallest, std::max(fitting, smallest))};
  sizes.remark = fmt::format(
      "sizes end at {}: {} of {} for each rank would not fit: rank {} has {} free",
      size_text(sizes.bytes.back()), buffers_of(command) == 1 ? "one buffer" : "two buffers",
      size_text(wanted), memory->rank, size_text(memory->bytes));
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
    return make_error("--root: rank {} is not one of {} ranks", command.root, backend.ranks());
  }
  TRY(check_steps(command, sizes));
  const auto [smallest, largest] = std::ranges::minmax(sizes);
  if (const auto least = least_size(command, backend.ranks()); smallest < least) {
    return make_error("{} of {} among {} needs {} or more, got {}", to_string(command.collective),
                      to_string(command.type),
                      counted(static_cast<std::uint64_t>(backend.ranks()), "rank"),
                      size_text(least), size_text(smallest));
  }
  if (reduces(command.collective) && !can_verify(command.type, command.reduction)) {
    return make_error(
        "--op {} of {} cannot be verified: its rounding errors are as "
        "large as the differences between results",
        to_string(command.reduction), to_string(command.type));
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

Result<Batch> verified_batch(Backend& backend, const Operation& operation, const Pace& pace,
                             Progress& progress) {
  TRY_ASSIGN(auto wrong, backend.verify(operation, pace, progress));
  TRY_ASSIGN(auto batch, backend.measure(operation, pace, progress));
  for (auto& each : batch.wrong) each.timed = true;
  if (!wrong.empty()) batch.wrong = std::move(wrong);
  return batch;
}

ProgressCounters counters_of(const std::shared_ptr<const Progress>& progress) {
  return {.started = [progress] { return progress->started.load(); },
          .finished = [progress] { return progress->finished.load(); }};
}

std::string describe(const Operation& operation) {
  return fmt::format("{} of {}{}", to_string(operation.collective), size_text(operation.bytes),
                     operation.in_place ? ", in place" : "");
}

Result<void> OperationTimer::add_batch(const std::vector<Wrong>& wrong, Measured& measured) {
  TRY_ASSIGN(auto batch, backend_.measure(measured.operation, pace_of(command_), *progress_));
  for (auto& each : batch.wrong) each.timed = true;
  batch.wrong.insert(batch.wrong.begin(), wrong.begin(), wrong.end());
  TRY_ASSIGN(auto batches, gather(group_, batch));
  for (auto& each : batches) {
    append(measured.batch.samples, std::move(each.samples));
    add_first(measured.batch.wrong, each.wrong);
  }
  return {};
}

bool OperationTimer::is_precise(const Measured& measured) const {
  const auto timing = timing_of(measured.operation, backend_.ranks(), measured.batch, shared_);
  return !timing || narrow_enough(timing->statistics, command_.precision->value / 100);
}

bool OperationTimer::is_enough(Measured& measured, Clock::time_point end) const {
  constexpr std::size_t kMaxIterations = 20'000;
  if (!command_.precision || measured.batch.samples.empty()) return true;
  const auto count = measured.batch.samples.front().seconds.size();
  const bool last = Clock::now() >= end || count >= kMaxIterations;
  // The cost of the check grows with the number of iterations, so it waits for an eighth more.
  if (!last && count < measured.next_precision_at) return false;
  measured.next_precision_at = count + count / 8;
  if (is_precise(measured)) return true;
  measured.cut_short = last;
  return last;
}

Result<std::vector<Wrong>> OperationTimer::verify(const Operation& operation) {
  const double first = connected_ ? 0 : command_.join_deadline.value;
  progress_->reset();
  group_.enter(describe(operation), to_duration({command_.operation_deadline.value + first}),
               counters_of(progress_));
  auto wrong = backend_.verify(operation, pace_of(command_), *progress_);
  connected_ = wrong.has_value();
  return wrong;
}

Result<Measured> OperationTimer::run(const Operation& operation) {
  Measured measured{.operation = operation};
  TRY_ASSIGN(auto wrong, verify(operation));
  const auto limit = to_duration(command_.operation_deadline);
  const auto end = Clock::now() + to_duration({kMaxDeadlines * command_.operation_deadline.value});
  for (bool more = true; more;) {
    progress_->reset();
    group_.enter(describe(operation), limit, counters_of(progress_));
    TRY(add_batch(wrong, measured));
    wrong.clear();
    TRY_ASSIGN(const auto go_on, broadcast(group_, is_enough(measured, end) ? 0 : 1));
    more = go_on != 0;
  }
  return measured;
}

}  // namespace muster::bench
