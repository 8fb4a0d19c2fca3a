// SPDX-License-Identifier: Apache-2.0
#include "bench/results/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/base/units.hpp"

namespace muster::bench {
namespace {

// A single rank may finish in less than a tick of the clock.
bool is_time(double seconds, int ranks) {
  return std::isfinite(seconds) && (seconds > 0 || (seconds == 0 && ranks == 1));
}

// A missing rank would make the others look good.
Result<void> check_samples(int ranks, const std::vector<Samples>& samples) {
  if (samples.size() != static_cast<std::size_t>(ranks)) {
    return make_error(fmt::format("{} of {} ranks sent their times", samples.size(), ranks));
  }
  std::vector<bool> seen(static_cast<std::size_t>(ranks));
  for (const auto& [rank, seconds, cpu_seconds] : samples) {
    if (rank < 0 || rank >= ranks || seen[static_cast<std::size_t>(rank)]) {
      return make_error(fmt::format("rank {} sent its times twice, or is not a rank", rank));
    }
    seen[static_cast<std::size_t>(rank)] = true;
    if (seconds.empty() || seconds.size() != samples.front().seconds.size()) {
      return make_error(fmt::format("rank {} sent {} times, rank {} sent {}", rank, seconds.size(),
                                    samples.front().rank, samples.front().seconds.size()));
    }
    if (cpu_seconds.size() != samples.front().cpu_seconds.size()) {
      return make_error(fmt::format("rank {} sent {} CPU times, rank {} sent {}", rank,
                                    cpu_seconds.size(), samples.front().rank,
                                    samples.front().cpu_seconds.size()));
    }
    for (const double each : seconds) {
      if (is_time(each, ranks)) continue;
      return make_error(fmt::format("rank {} sent an invalid time: {} s", rank, each));
    }
  }
  return {};
}

std::vector<double> slowest(const std::vector<Samples>& samples) {
  std::vector<double> seconds = samples.front().seconds;
  for (const auto& each : samples) {
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      seconds[i] = std::max(seconds[i], each.seconds[i]);
    }
  }
  return seconds;
}

// The mean over ranks of each rank's mean over iterations.
double mean_of_ranks(const std::vector<Samples>& samples, std::vector<double> Samples::*times) {
  double sum = 0;
  for (const auto& each : samples) {
    const auto& seconds = each.*times;
    sum +=
        std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  }
  return sum / static_cast<double>(samples.size());
}

Bandwidth bandwidth_of(std::uint64_t bytes, double seconds, double factor) {
  const double algorithm = seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  return {.algorithm = algorithm, .bus = algorithm * factor};
}

Measurement measurement_of(const Row& row, const Timing& timing, bool in_place,
                           const RunFacts& run) {
  const auto& [count, median, p5, p95, min, mean, confidence] = timing.statistics;
  const auto& operation = row.operation;
  const bool moves = moves_data(operation.collective);
  Measurement measurement{
      .quantity = moves ? "busbw" : "latency",
      .value = moves ? timing.judged.bus / kGiga : median * kMicrosecondsPerSecond,
      .unit = moves ? "GB/s" : "us",
      .conditions = {.collective = std::string(to_string(operation.collective)),
                     .type = std::string(to_string(operation.type)),
                     .reduction = std::string(
                         reduces(operation.collective) ? to_string(operation.reduction) : ""),
                     .placement = in_place ? "in_place" : "out_of_place",
                     .size_bytes = static_cast<std::int64_t>(operation.bytes),
                     .ranks = row.ranks,
                     .nodes = run.nodes,
                     .backend = run.backend,
                     .library = run.library,
                     .algorithm = run.algorithm,
                     .iterations = static_cast<std::int64_t>(count)},
      .statistics =
          MeasurementStatistics{.median_us = median * kMicrosecondsPerSecond,
                                .p5_us = p5 * kMicrosecondsPerSecond,
                                .p95_us = p95 * kMicrosecondsPerSecond,
                                .min_us = min * kMicrosecondsPerSecond,
                                .mean_us = timing.mean_of_ranks * kMicrosecondsPerSecond}};
  if (confidence) {
    measurement.statistics->median_low_us = confidence->low * kMicrosecondsPerSecond;
    measurement.statistics->median_high_us = confidence->high * kMicrosecondsPerSecond;
  }
  if (timing.checked) {
    measurement.wrong_elements = static_cast<std::int64_t>(wrong_elements(timing));
  }
  for (const double each : timing.seconds) {
    measurement.iterations_us.push_back(each * kMicrosecondsPerSecond);
  }
  return measurement;
}

Measurement cpu_time_of(const Row& row, const Timing& timing, bool in_place, const RunFacts& run) {
  auto measurement = measurement_of(row, timing, in_place, run);
  measurement.quantity = "cpu_time";
  measurement.value = *timing.cpu * kMicrosecondsPerSecond;
  measurement.unit = "us";
  measurement.statistics.reset();
  measurement.wrong_elements.reset();
  measurement.iterations_us.clear();
  return measurement;
}

}  // namespace

Result<Timing> timing_of(const Operation& operation, int ranks, const std::vector<Samples>& samples,
                         std::size_t shared) {
  TRY(check_samples(ranks, samples));
  Timing timing;
  const auto messages = static_cast<double>(messages_of(operation));
  timing.seconds = slowest(samples);
  for (auto& each : timing.seconds) each /= messages;
  timing.statistics = statistics_of(timing.seconds, shared);
  timing.mean_of_ranks = mean_of_ranks(samples, &Samples::seconds) / messages;
  if (!samples.front().cpu_seconds.empty()) {
    timing.cpu = mean_of_ranks(samples, &Samples::cpu_seconds) / messages;
  }
  const auto bytes = shape_of(operation, 0, ranks).bytes;
  const double factor = bus_factor(operation.collective, ranks);
  timing.judged = bandwidth_of(bytes, timing.statistics.median, factor);
  timing.shown = bandwidth_of(bytes, timing.mean_of_ranks, factor);
  return timing;
}

Row row_of(Operation operation, int ranks) {
  operation.in_place = false;
  return {.operation = operation, .shape = shape_of(operation, 0, ranks), .ranks = ranks};
}

std::optional<Timing>& placement_of(Row& row, const Operation& operation) {
  return operation.in_place ? row.in_place : row.out_of_place;
}

std::uint64_t wrong_elements(const Timing& timing) {
  std::uint64_t sum = 0;
  for (const auto& each : timing.wrong) sum += each.elements;
  return sum;
}

std::vector<Measurement> measurements_of(const Row& row, const RunFacts& run,
                                         const std::string& part) {
  std::vector<Measurement> measurements;
  for_each_placement(row, [&](const Timing& timing, bool in_place) {
    measurements.push_back(measurement_of(row, timing, in_place, run));
  });
  for_each_placement(row, [&](const Timing& timing, bool in_place) {
    if (timing.cpu) measurements.push_back(cpu_time_of(row, timing, in_place, run));
  });
  for (auto& each : measurements) each.conditions.device = part;
  return measurements;
}

}  // namespace muster::bench
