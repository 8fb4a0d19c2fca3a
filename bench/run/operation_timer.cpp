// SPDX-License-Identifier: Apache-2.0
#include "bench/run/operation_timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "bench/results/row.hpp"
#include "bench/run/emergency.hpp"
#include "bench/run/messages.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench {
namespace {

// However noisy the machine is, one operation ends.
constexpr std::size_t kMostIterations = 20'000;

constexpr std::string_view kMore = "more";
constexpr std::string_view kDone = "done";

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

// Of each rank, what was found first.
void add_first(std::vector<Wrong>& all, const std::vector<Wrong>& more) {
  for (const auto& each : more) {
    if (std::ranges::find(all, each.rank, &Wrong::rank) == all.end()) all.push_back(each);
  }
}

}  // namespace

Result<Batch> verified_batch(Backend& backend, const Operation& operation, const Pace& pace,
                             Progress& progress) {
  TRY_ASSIGN(auto wrong, backend.verify(operation, pace, progress));
  auto batch = backend.measure(operation, pace, progress);
  if (!batch) return batch;
  for (auto& each : batch->wrong) each.timed = true;
  if (!wrong.empty()) batch->wrong = std::move(wrong);
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

Result<void> OperationTimer::add_batch(const Operation& operation, const std::vector<Wrong>& wrong,
                                       Measured& measured) {
  TRY_ASSIGN(auto batch, backend_.measure(operation, plan_.pace, *progress_));
  for (auto& each : batch.wrong) each.timed = true;
  batch.wrong.insert(batch.wrong.begin(), wrong.begin(), wrong.end());
  TRY_ASSIGN(auto batches, gather(group_, batch));
  for (auto& each : batches) {
    append(measured.samples, std::move(each.samples));
    add_first(measured.wrong, each.wrong);
  }
  return {};
}

bool OperationTimer::precise(const Measured& measured) const {
  const auto timing =
      timing_of(measured.operation, backend_.ranks(), measured.samples, plan_.shared);
  return !timing || narrow_enough(timing->statistics, plan_.precision->value / 100);
}

bool OperationTimer::enough(Measured& measured, Clock::time_point end) const {
  if (!plan_.precision || measured.samples.empty()) return true;
  const auto count = measured.samples.front().seconds.size();
  const bool last = Clock::now() >= end || count >= kMostIterations;
  // Looking costs as much as there is: it is done each time that there is an eighth more.
  if (!last && count < measured.look_at) return false;
  measured.look_at = count + count / 8;
  if (precise(measured)) return true;
  measured.cut_short = last;
  return last;
}

Result<std::vector<Wrong>> OperationTimer::verify(const Operation& operation) {
  const double first = connected_ ? 0 : plan_.join_deadline.value;
  progress_->reset();
  group_.enter(describe(operation), to_duration({plan_.operation_deadline.value + first}),
               counters_of(progress_));
  auto wrong = backend_.verify(operation, plan_.pace, *progress_);
  connected_ = wrong.has_value();
  return wrong;
}

Result<void> OperationTimer::add_batches(const Operation& operation, std::vector<Wrong> wrong,
                                         Measured& measured) {
  const auto limit = to_duration(plan_.operation_deadline);
  const auto end = Clock::now() + to_duration({kMostDeadlines * plan_.operation_deadline.value});
  for (;;) {
    progress_->reset();
    group_.enter(describe(operation), limit, counters_of(progress_));
    if (auto added = add_batch(operation, wrong, measured); !added) return added;
    wrong.clear();
    TRY_ASSIGN(const auto word, group_.broadcast(enough(measured, end) ? kDone : kMore));
    if (word == kDone) return {};
  }
}

Result<Measured> OperationTimer::run(const Operation& operation) {
  Measured measured{.operation = operation, .samples = {}, .wrong = {}};
  TRY_ASSIGN(auto wrong, verify(operation));
  if (auto added = add_batches(operation, std::move(wrong), measured); !added) {
    return tl::unexpected(added.error());
  }
  return measured;
}

}  // namespace muster::bench
