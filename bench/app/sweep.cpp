// SPDX-License-Identifier: Apache-2.0
#include "bench/app/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "bench/app/wire.hpp"
#include "bench/results/row.hpp"

namespace muster::bench {
namespace {

// However noisy the machine is, one operation ends.
constexpr std::size_t kMostIterations = 20'000;

constexpr std::string_view kMore = "more";
constexpr std::string_view kDone = "done";

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void append(std::vector<Samples>& target, std::vector<Samples> more) {
  for (auto& each : more) {
    const auto found = std::ranges::find(target, each.rank, &Samples::rank);
    if (found == target.end()) {
      target.push_back(std::move(each));
    } else {
      found->seconds.insert(found->seconds.end(), each.seconds.begin(), each.seconds.end());
    }
  }
}

}  // namespace

std::string describe(const Operation& operation) {
  return fmt::format("{} of {}{}",
                     to_string(operation.collective),
                     to_string(Bytes{static_cast<double>(operation.bytes)}),
                     operation.in_place ? ", in place" : "");
}

Result<void> Sweep::add_batch(const Operation& operation,
                              const std::vector<Wrong>& wrong,
                              Measured& measured) {
  auto samples = backend_.measure(operation, plan_.pace, progress_);
  if (!samples) return tl::unexpected(samples.error());
  const auto texts = group_.gather(to_wire(Told{.samples = *std::move(samples), .wrong = wrong}));
  if (!texts) return tl::unexpected(texts.error());
  for (std::size_t rank = 0; rank < texts->size(); ++rank) {
    auto told = parse_told((*texts)[rank], static_cast<int>(rank));
    if (!told) return tl::unexpected(told.error());
    append(measured.samples, std::move(told->samples));
    measured.wrong.insert(measured.wrong.end(), told->wrong.begin(), told->wrong.end());
  }
  return {};
}

// Rank 0 alone knows; what the others say here does not count.
bool Sweep::enough(const Measured& measured) const {
  if (!plan_.precision || measured.samples.empty()) return true;
  if (measured.samples.front().seconds.size() >= kMostIterations) return true;
  const auto timing =
      timing_of(measured.operation, backend_.ranks(), measured.samples, plan_.shared);
  return !timing || narrow_enough(timing->statistics, plan_.precision->value / 100);
}

Result<Measured> Sweep::run(const Operation& operation) {
  const auto phase = describe(operation);
  Measured measured{.operation = operation, .samples = {}, .wrong = {}};

  group_.enter(phase, duration_of(plan_.operation_deadline.value));
  const auto begin = Clock::now();
  auto wrong = plan_.pace.graph ? backend_.verify_graph(operation) : backend_.verify(operation);
  if (!wrong) return tl::unexpected(wrong.error());
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();

  // What one took, with filling and verifying, bounds what many take.
  const double batch = took * (plan_.pace.warm_up + plan_.pace.iterations);
  for (;;) {
    group_.enter(phase, duration_of(plan_.operation_deadline.value + 10 * batch));
    if (auto added = add_batch(operation, *wrong, measured); !added) {
      return tl::unexpected(added.error());
    }
    wrong->clear();
    const auto word = group_.broadcast(enough(measured) ? kDone : kMore);
    if (!word) return tl::unexpected(word.error());
    if (*word == kDone) return measured;
  }
}

}  // namespace muster::bench
