// SPDX-License-Identifier: Apache-2.0
#include "bench/results/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/base/units.hpp"

namespace muster::bench {
namespace {

// A single rank may finish within one tick of the clock.
bool is_time(double seconds, int ranks) {
  return std::isfinite(seconds) && (seconds > 0 || (seconds == 0 && ranks == 1));
}

// A missing rank would make the result look too good.
Result<void> check_samples(int ranks, const std::vector<Samples>& samples) {
  if (samples.size() != static_cast<std::size_t>(ranks)) {
    return make_error("{} of {} ranks sent their times", samples.size(), ranks);
  }
  std::vector<bool> seen(static_cast<std::size_t>(ranks));
  for (const auto& [rank, seconds, cpu_seconds] : samples) {
    if (rank < 0 || rank >= ranks || seen[static_cast<std::size_t>(rank)]) {
      return make_error("rank {} sent its times twice, or is not a rank", rank);
    }
    seen[static_cast<std::size_t>(rank)] = true;
    const auto& first = samples.front();
    if (seconds.empty() || seconds.size() != first.seconds.size()) {
      return make_error("rank {} sent {} times, rank {} sent {}", rank, seconds.size(), first.rank,
                        first.seconds.size());
    }
    if (cpu_seconds.size() != first.cpu_seconds.size()) {
      return make_error("rank {} sent {} CPU times, rank {} sent {}", rank, cpu_seconds.size(),
                        first.rank, first.cpu_seconds.size());
    }
    for (const double each : seconds) {
      if (is_time(each, ranks)) continue;
      return make_error("rank {} sent an invalid time: {} s", rank, each);
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

double microseconds(double seconds) { return seconds * kMicrosecondsPerSecond; }

Measurement measurement_of(const Row& row, const Timing& timing, bool in_place,
                           const RunFacts& run) {
  const auto& [count, median, p5, p95, min, mean, confidence] = timing.statistics;
  const auto& operation = row.operation;
  const bool moves = moves_data(operation.collective);
  Measurement measurement{
      .quantity = moves ? "busbw" : "latency",
      .value = moves ? timing.judged.bus / kGiga : microseconds(median),
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
      .statistics = MeasurementStatistics{.median_us = microseconds(median),
                                          .p5_us = microseconds(p5),
                                          .p95_us = microseconds(p95),
                                          .min_us = microseconds(min),
                                          .mean_us = microseconds(timing.mean_of_ranks)}};
  if (confidence) {
    measurement.statistics->median_low_us = microseconds(confidence->low);
    measurement.statistics->median_high_us = microseconds(confidence->high);
  }
  measurement.wrong_elements = static_cast<std::int64_t>(wrong_elements(timing));
  for (const double each : timing.seconds) measurement.iterations_us.push_back(microseconds(each));
  return measurement;
}

Measurement cpu_time_of(const Row& row, const Timing& timing, bool in_place, const RunFacts& run) {
  auto measurement = measurement_of(row, timing, in_place, run);
  measurement.quantity = "cpu_time";
  measurement.value = microseconds(*timing.cpu);
  measurement.unit = "us";
  measurement.statistics.reset();
  measurement.wrong_elements.reset();
  measurement.iterations_us.clear();
  return measurement;
}

constexpr std::size_t kTimeWidth = 7;
constexpr std::size_t kBandwidthWidth = 6;
constexpr std::string_view kNone = "N/A";

std::string fields(std::string_view time, std::string_view algorithm, std::string_view bus,
                   std::string_view wrong) {
  return fmt::format("  {:>{}}  {:>{}}  {:>{}}  {:>6}", time, kTimeWidth, algorithm,
                     kBandwidthWidth, bus, kBandwidthWidth, wrong);
}

std::string time_of(const Timing& timing, bool cpu_time) {
  const auto seconds = cpu_time ? timing.cpu : timing.mean_of_ranks;
  return seconds ? table_number(microseconds(*seconds), kTimeWidth) : std::string(kNone);
}

std::string placement(const std::optional<Timing>& timing, bool cpu_time) {
  if (!timing) return fields(kNone, kNone, kNone, kNone);
  return fields(time_of(*timing, cpu_time),
                table_number(timing->shown.algorithm / kGiga, kBandwidthWidth),
                table_number(timing->shown.bus / kGiga, kBandwidthWidth),
                fmt::format("{}", wrong_elements(*timing)));
}

// "gpu3" gives "3"; an id without a number gives "0".
std::string device_number(std::string_view id) {
  const auto digits = id.find_last_not_of("0123456789") + 1;
  return digits < id.size() ? std::string(id.substr(digits)) : "0";
}

// The PCI address without the function, as in nccl-tests.
std::string_view bus_id(const Member& member) {
  const std::string_view address = member.pci_address;
  return address.empty() ? "host" : address.substr(0, address.find('.'));
}

std::string device_line(const Member& member) {
  return fmt::format("#  Rank {:>2} Group  0 Pid {:>6} on {:>10} device {:>2} [{}] {}\n",
                     member.rank, member.pid, printable(member.host),
                     device_number(member.device_id), printable(bus_id(member)),
                     printable(member.device));
}

}  // namespace

Result<Timing> timing_of(const Operation& operation, int ranks, const Batch& batch,
                         std::size_t shared) {
  const auto& samples = batch.samples;
  TRY(check_samples(ranks, samples));
  Timing timing{.wrong = batch.wrong};
  const auto messages = static_cast<double>(messages_of(operation));
  timing.seconds = slowest(samples);
  for (auto& each : timing.seconds) each /= messages;
  timing.statistics = statistics_of(timing.seconds, shared);
  timing.mean_of_ranks = mean_of_ranks(samples, &Samples::seconds) / messages;
  if (!samples.front().cpu_seconds.empty()) {
    timing.cpu = mean_of_ranks(samples, &Samples::cpu_seconds) / messages;
  }
  // In place, a single rank moves no data: only the call takes time.
  const bool moves = ranks > 1 || !operation.in_place;
  const auto bytes = moves ? shape_of(operation, 0, ranks).bytes : 0;
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

std::uint64_t largest_of(const std::vector<Row>& rows) {
  std::uint64_t largest = 0;
  for (const auto& row : rows) largest = std::max(largest, row.operation.bytes);
  return largest;
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

std::string table_number(double value, std::size_t width) {
  constexpr int kMaxDecimals = 2;
  for (int decimals = kMaxDecimals; decimals > 0; --decimals) {
    auto text = fmt::format("{:.{}f}", value, decimals);
    if (text.size() <= width) return text;
  }
  return fmt::format("{:.0f}", value);
}

std::string table_header(const TableHead& head) {
  const auto step = head.step > 0     ? fmt::format("{}(bytes)", head.step)
                    : head.factor > 0 ? fmt::format("{}(factor)", head.factor)
                                      : "0(list)";
  std::string text = fmt::format(
      "# muster-bench {}, {}\n"
      "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: "
      "{} validation: 1 graph: {}\n#\n# Using devices\n",
      to_string(head.collective), printable(head.library), head.min_bytes, head.max_bytes, step,
      head.pace.warm_up, head.pace.iterations, head.pace.together, head.pace.graph ? 1 : 0);
  for (const auto& member : head.members) text += device_line(member);
  text.append(head.pace.pipelined ? "#\n# Operations are started back to back, as nccl-tests does\n"
                                  : "#\n# Blocking mode; nccl-tests pipelines (--pipelined)\n");
  const std::string_view columns = head.pace.cpu_time ? "  cputime   algbw   busbw  #wrong"
                                                      : "     time   algbw   busbw  #wrong";
  constexpr std::string_view kUnits = "     (us)  (GB/s)  (GB/s)";
  return text.append("#\n")
      .append(fmt::format("#{:62}{:35}{}\n", "", "out-of-place", "in-place"))
      .append(fmt::format("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "size", "count", "type",
                          "redop", "root", columns, columns))
      .append(fmt::format("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "(B)", "(elements)", "", "",
                          "", kUnits, fmt::format("{:8}{}", "", kUnits)));
}

std::string table_row(const Row& row, bool cpu_time) {
  const auto& operation = row.operation;
  return fmt::format(
      "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", row.shape.bytes, row.shape.count,
      table_name(operation.type),
      reduces(operation.collective) ? to_string(operation.reduction) : "none",
      has_root(operation.collective) ? fmt::format("{}", operation.root) : std::string("-1"),
      placement(row.out_of_place, cpu_time), placement(row.in_place, cpu_time));
}

void TableTotals::add(const Row& row) {
  for_each_placement(row, [this](const Timing& timing, bool /*in_place*/) {
    ++timings;
    out_of_bounds += timing.wrong.size();
    bus += timing.shown.bus;
  });
}

std::string table_footer(const TableTotals& totals) {
  const double mean =
      totals.timings == 0 ? 0 : totals.bus / static_cast<double>(totals.timings) / kGiga;
  // Six digits, with a decimal point and without an exponent, for scripts that match [0-9.]+.
  auto average =
      mean >= 1e-4 && mean < 1e6 ? fmt::format("{:.6g}", mean) : fmt::format("{:.6f}", mean);
  if (average.find('.') == std::string::npos) average += ".0";
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {}\n#\n",
                     totals.out_of_bounds, totals.out_of_bounds == 0 ? "OK" : "FAILED", average);
}

}  // namespace muster::bench
