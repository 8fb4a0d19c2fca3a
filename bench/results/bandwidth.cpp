// SPDX-License-Identifier: Apache-2.0
#include "bench/results/bandwidth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/base/units.hpp"
#include "lib/report/finding.hpp"

namespace muster::bench {
namespace {

// The precision of clocks: exactly 185 GB/s is not below 185 GB/s.
constexpr double kRounding = 1e-6;

bool is_below(double value, double limit) { return value < limit * (1 - kRounding); }

// The slower placement of one run.
struct Value {
  double bus = 0;
  std::optional<Interval> confidence;
  std::string_view placement;
};

Value value_of(const Row& row, const Timing& timing, std::string_view placement) {
  constexpr std::size_t kSeveral = 6;
  const auto& statistics = timing.statistics;
  // If iterations are too correlated for an interval, the median may be anywhere among them.
  auto seconds = statistics.confidence;
  if (!seconds && statistics.count >= kSeveral) seconds = {statistics.p5, statistics.p95};
  Value value{.bus = timing.judged.bus, .confidence = {}, .placement = placement};
  if (seconds) {
    const auto bytes = static_cast<double>(row.shape.bytes);
    const double factor = bytes * bus_factor(row.operation.collective, row.ranks);
    value.confidence = {factor / seconds->high, factor / seconds->low};
  }
  return value;
}

std::vector<Value> values_of(const std::vector<Row>& rows, std::uint64_t bytes) {
  std::vector<Value> values;
  for (const auto& row : rows) {
    if (row.operation.bytes != bytes) continue;
    std::optional<Value> slower;
    for_each_placement(row, [&](const Timing& timing, bool in_place) {
      const auto value = value_of(row, timing, in_place ? "in place" : "out of place");
      if (!slower || value.bus < slower->bus) slower = value;
    });
    if (slower) values.push_back(*slower);
  }
  return values;
}

// Two decimals, or more if a value below a limit would look the same.
std::string in_gbps(double value, const BandwidthLimit& limits) {
  constexpr int kMaxDecimals = 4;
  const auto looks = [](double bytes_per_second, int decimals) {
    return fmt::format("{:.{}f}", bytes_per_second / kGiga, decimals);
  };
  int decimals = 2;
  for (const auto& limit : {limits.warn_below, limits.fail_below}) {
    if (!limit || !is_below(value, limit->value)) continue;
    while (decimals < kMaxDecimals && looks(value, decimals) == looks(limit->value, decimals)) {
      ++decimals;
    }
  }
  return looks(value, decimals);
}

std::string limits_text(const BandwidthLimit& limits) {
  std::vector<std::string> parts;
  for (const auto& [word, limit] :
       {std::pair("expected", limits.expected), std::pair("warns below", limits.warn_below),
        std::pair("fails below", limits.fail_below)}) {
    if (limit) parts.push_back(fmt::format("{} {}", word, to_string(*limit)));
  }
  return fmt::format("{} ({})", fmt::join(parts, ", "), limits.from);
}

std::string message_of(const std::vector<Row>& rows, const BandwidthLimit& limits,
                       const std::vector<Value>& values, double decided) {
  const auto collective = to_string(rows.front().operation.collective);
  auto text = fmt::format("{} GB/s for {} of {} {}", in_gbps(decided, limits), collective,
                          size_text(limits.bytes), values.front().placement);
  constexpr std::size_t kFew = 8;
  if (values.size() > kFew) {
    const auto [least, most] = std::ranges::minmax(values, {}, &Value::bus);
    text.append(fmt::format(", the median of {} runs from {} to {}", values.size(),
                            in_gbps(least.bus, limits), in_gbps(most.bus, limits)));
  } else if (values.size() > 1) {
    std::vector<std::string> runs;
    for (const auto& value : values) runs.push_back(in_gbps(value.bus, limits));
    text.append(fmt::format(", the median of {}", fmt::join(runs, ", ")));
  }
  text.append("; ").append(limits_text(limits));
  for (const auto& remark : {limits.other_network, limits.other_algorithm}) {
    if (!remark.empty()) text.append("; ").append(remark);
  }
  return text;
}

// How far the median of `runs` runs may be from the true value, as a share of it, with 99%
// confidence.
double margin_of(std::size_t runs) {
  // The standard deviation between runs of healthy nodes, as published for pairs of ND A100 nodes.
  constexpr double kRunToRun = 0.006;
  constexpr double kOfNormal = 2.576;   // 99% of normal values are within
  constexpr double kOfMedian = 1.2533;  // the median's error over the mean's, for many runs
  constexpr double kOfThree = 1.16;     // the same for three
  const auto count = static_cast<double>(std::max<std::size_t>(1, runs));
  const double of_median = runs < 3 ? 1 : runs == 3 ? kOfThree : kOfMedian;
  return kOfNormal * of_median * kRunToRun / std::sqrt(count);
}

Finding compare(const std::vector<Row>& rows, const BandwidthLimit& limits,
                const std::vector<Value>& values) {
  std::vector<double> runs(values.size());
  std::ranges::transform(values, runs.begin(), &Value::bus);
  const double decided = median_of(runs);  // of all runs, never the best of them
  Finding finding{.check = limits.check,
                  .device = limits.device,
                  .outcome = Outcome::pass,
                  .message = message_of(rows, limits, values, decided),
                  .observed = decided / kGiga,
                  .unit = "GB/s"};
  const auto misses = [&finding](double value, const Limit<BytesPerSecond>& limit, Outcome outcome,
                                 Remedy remedy) {
    if (!limit) return false;
    finding.limit = limit->value / kGiga;
    if (!is_below(value, limit->value)) return false;
    finding.outcome = outcome;
    finding.remedy = remedy;
    return true;
  };
  const auto& fail_below = limits.fail_below;
  if (limits.clearly) {
    const double margin = margin_of(runs.size());
    const auto [low, high] = std::pair(decided * (1 - margin), decided * (1 + margin));
    if (!misses(high, fail_below, Outcome::fail, Remedy::report_to_provider) &&
        misses(low, fail_below, Outcome::warn, Remedy::watch)) {
      finding.message.append(fmt::format(
          "; runs differ: the true value is between {:.2f} and {:.2f} GB/s, on either side of the "
          "limit",
          low / kGiga, high / kGiga));
    }
    return finding;
  }
  const auto remedy =
      limits.other_network.empty() ? Remedy::report_to_provider : Remedy::fix_config;
  if (misses(decided, fail_below, Outcome::fail, remedy)) return finding;
  if (!limits.other_algorithm.empty()) {
    finding.outcome = Outcome::unknown;
    return finding;
  }
  misses(decided, limits.warn_below, Outcome::warn, Remedy::watch);
  const auto slow = std::ranges::count_if(
      runs, [&](double run) { return fail_below && is_below(run, fail_below->value); });
  // With --cycles or --soak, a single slow run warns.
  if (values.size() > kRepeats + 1 && slow > 0 && finding.outcome == Outcome::pass) {
    misses(std::ranges::min(runs), fail_below, Outcome::warn, Remedy::watch);
    finding.message.append(fmt::format("; {} of {} runs were below the limit", slow, runs.size()));
  }
  if (!fail_below && !limits.warn_below) {
    finding.outcome = Outcome::unknown;
    finding.message.append("; not judged: the profile sets no fail_below or warn_below");
  }
  return finding;
}

constexpr std::string_view kSplitCheck = "bench.split";
constexpr OutlierRule kSplitRule{.share = 0.03};
constexpr double kSplitFails = 0.1;

std::uint64_t split_size(const std::vector<PartResult>& parts, const OwnLimit& own_limit) {
  return own_limit.at.value_or(largest_of(parts.front().rows));
}

// The bandwidth of the slower placement; empty if the size was not run.
std::optional<double> bus_of(const PartResult& part, std::uint64_t bytes) {
  const auto values = values_of(part.rows, bytes);
  if (values.empty()) return {};
  return std::ranges::min(values, {}, &Value::bus).bus;
}

std::vector<double> values_of(const std::vector<PartResult>& parts, std::uint64_t bytes) {
  std::vector<double> values;
  for (const auto& part : parts) {
    if (const auto bus = bus_of(part, bytes)) values.push_back(*bus);
  }
  return values;
}

std::optional<Finding> slow_part(const PartResult& part, std::uint64_t bytes,
                                 const std::vector<double>& all, const OwnLimit& own_limit) {
  const double value = bus_of(part, bytes).value_or(0);
  const double median = median_of(all);
  const bool below = own_limit.min_busbw && value < own_limit.min_busbw->value;
  const bool behind = is_outlier(value, all, kSplitRule);
  if (!below && !behind) return {};
  const bool fails = below || value < median * (1 - kSplitFails);
  auto found = make_finding(
      kSplitCheck, part.name, fails ? Outcome::fail : Outcome::warn,
      fmt::format("{:.2f} GB/s for {} of {}, {:.1f}% of the median of {} parts, {:.2f} GB/s{}",
                  value / kGiga, to_string(part.rows.front().operation.collective),
                  size_text(bytes), 100 * value / median, all.size(), median / kGiga,
                  below ? fmt::format("; below --min-busbw {}", to_string(*own_limit.min_busbw))
                        : std::string()));
  found.observed = value / kGiga;
  found.limit = below ? own_limit.min_busbw->value / kGiga : median / kGiga;
  found.unit = "GB/s";
  found.remedy = fails ? Remedy::report_to_provider : Remedy::watch;
  return found;
}

}  // namespace

bool needs_repeat(double value, const std::optional<Interval>& confidence, double limit) {
  constexpr double kNear = 0.02;
  if (value <= limit * (1 + kNear)) return true;
  return confidence && confidence->low <= limit && limit <= confidence->high;
}

std::optional<Operation> to_repeat(const std::vector<Row>& rows, const Profile& profile,
                                   const RunFacts& facts, const OwnLimit& own_limit) {
  const auto found = limit_for(rows, profile, facts, own_limit);
  const auto* limits = std::get_if<BandwidthLimit>(&found);
  if (limits == nullptr) return {};
  const auto values = values_of(rows, limits->bytes);
  if (values.size() != 1) return {};
  for (const auto& limit : {limits->warn_below, limits->fail_below}) {
    if (!limit || !needs_repeat(values.front().bus, values.front().confidence, limit->value)) {
      continue;
    }
    const auto is_it = [&](const Row& row) { return row.operation.bytes == limits->bytes; };
    return std::ranges::find_if(rows, is_it)->operation;
  }
  return {};
}

Finding judge(const std::vector<Row>& rows, const Profile& profile, const RunFacts& facts,
              const OwnLimit& own_limit) {
  const auto found = limit_for(rows, profile, facts, own_limit);
  if (const auto* finding = std::get_if<Finding>(&found)) return *finding;
  const auto& limits = std::get<BandwidthLimit>(found);
  const auto values = values_of(rows, limits.bytes);
  if (values.empty()) {
    return make_finding(limits.check, limits.device, Outcome::unknown,
                        fmt::format("{} was not timed", size_text(limits.bytes)));
  }
  auto finding = compare(rows, limits, values);
  const bool of_node = facts.nodes == 1 && !own_limit.min_busbw;
  if (finding.outcome == Outcome::fail && of_node && !facts.limited_by.empty()) {
    finding.outcome = Outcome::unknown;
    finding.remedy = Remedy::fix_config;
    finding.message.append(fmt::format("; the job sets {}", facts.limited_by));
  }
  return finding;
}

std::vector<Finding> judge_split(const std::vector<PartResult>& parts, const OwnLimit& own_limit) {
  const auto bytes = split_size(parts, own_limit);
  const auto values = values_of(parts, bytes);
  if (values.size() != parts.size()) {
    return {make_finding(kSplitCheck, "job", Outcome::unknown,
                         fmt::format("{} was not run", size_text(bytes)))};
  }
  std::vector<Finding> findings;
  for (const auto& part : parts) {
    if (auto found = slow_part(part, bytes, values, own_limit))
      findings.push_back(*std::move(found));
  }
  if (!findings.empty()) return findings;
  if (parts.size() < kSplitRule.fewest && !own_limit.min_busbw) {
    return {
        make_finding(kSplitCheck, "job", Outcome::unknown,
                     fmt::format("not judged: {} parts are too few to compare; give --min-busbw",
                                 parts.size()))};
  }
  const auto [least, most] = std::ranges::minmax(values);
  std::vector<std::size_t> sizes;
  for (const auto& part : parts) sizes.push_back(part.ranks.size());
  return {make_finding(
      kSplitCheck, "job", Outcome::pass,
      fmt::format("{} parts of {} ranks or more: {:.2f} to {:.2f} GB/s at {}", parts.size(),
                  std::ranges::min(sizes), least / kGiga, most / kGiga, size_text(bytes)))};
}

std::string split_table(const std::vector<PartResult>& parts, const OwnLimit& own_limit) {
  const auto bytes = split_size(parts, own_limit);
  const auto values = values_of(parts, bytes);
  if (values.empty()) return {};
  const double median = median_of(values);
  auto text = fmt::format("#\n# {:<24}  {:>12}  {:>13}\n", "part", "busbw (GB/s)", "of the median");
  for (const auto& part : parts) {
    const double value = bus_of(part, bytes).value_or(0);
    text.append(fmt::format("# {:<24}  {:>12.2f}  {:>12.1f}%{}\n", part.name, value / kGiga,
                            100 * value / median,
                            is_outlier(value, values, kSplitRule) ? "  <" : ""));
  }
  return text;
}

}  // namespace muster::bench
