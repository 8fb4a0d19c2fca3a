// SPDX-License-Identifier: Apache-2.0
#include "bench/run/operation_timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bench/results/row.hpp"
#include "bench/run/messages.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench {
namespace {

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
  TRY_ASSIGN(auto batch, backend_.measure(measured.operation, plan_.pace, *progress_));
  for (auto& each : batch.wrong) each.timed = true;
  batch.wrong.insert(batch.wrong.begin(), wrong.begin(), wrong.end());
  TRY_ASSIGN(auto batches, gather(group_, batch));
  for (auto& each : batches) {
    append(measured.samples, std::move(each.samples));
    add_first(measured.wrong, each.wrong);
  }
  return {};
}

bool OperationTimer::is_precise(const Measured& measured) const {
  const auto timing =
      timing_of(measured.operation, backend_.ranks(), measured.samples, plan_.shared);
  return !timing || narrow_enough(timing->statistics, plan_.precision->value / 100);
}

bool OperationTimer::is_enough(Measured& measured, Clock::time_point end) const {
  constexpr std::size_t kMostIterations = 20'000;
  if (!plan_.precision || measured.samples.empty()) return true;
  const auto count = measured.samples.front().seconds.size();
  const bool last = Clock::now() >= end || count >= kMostIterations;
  // The cost of the check grows with the number of iterations, so it waits for an eighth more.
  if (!last && count < measured.next_precision_at) return false;
  measured.next_precision_at = count + count / 8;
  if (is_precise(measured)) return true;
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

Result<Measured> OperationTimer::run(const Operation& operation) {
  Measured measured{.operation = operation};
  TRY_ASSIGN(auto wrong, verify(operation));
  const auto limit = to_duration(plan_.operation_deadline);
  const auto end = Clock::now() + to_duration({kMostDeadlines * plan_.operation_deadline.value});
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
