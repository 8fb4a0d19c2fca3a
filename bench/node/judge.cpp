// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/node/test_report.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::node {
namespace {

constexpr OutlierRule kRule{.deviations = 5, .fewest = 4};

// The number of base units of the limits in one unit of the series.
double base_of(std::string_view unit) {
  if (unit == "TFLOPS") return 1e12;
  if (unit == "GB/s" || unit == "Gb/s") return 1e9;
  return 1;
}

std::string number_text(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string range_text(double low, double high) {
  const auto from = number_text(low);
  const auto to = number_text(high);
  return from == to ? from : fmt::format("{} to {}", from, to);
}

class SeriesJudge {
 public:
  SeriesJudge(std::string_view check, const Series& series, const Bounds& bounds,
              std::string_view from)
      : check_(check), series_(series), bounds_(series.limited ? bounds : Bounds{}), from_(from) {
    std::map<std::string, std::vector<double>> values;
    std::vector<double> noises;
    for (const auto& each : series.values) {
      values[each.group].push_back(each.value);
      noises.push_back(each.noise);
    }
    for (const auto& [name, group] : values) groups_[name] = spread_of(group);
    // Repeats that differ widely excuse devices that do.
    const double noise = noises.empty() ? 0 : median_of(std::move(noises));
    rule_.share = std::max(series.tolerance, kRule.deviations * noise);
    rule_.side = series.less_is_better ? Side::above : Side::below;
  }

  [[nodiscard]] std::vector<Finding> findings() const {
    std::vector<Finding> bad;
    for (const auto& each : series_.values) {
      auto finding = finding_of(each);
      if (finding.outcome != Outcome::pass) bad.push_back(std::move(finding));
    }
    if (bad.empty()) bad.push_back(finding_of_all());
    return bad;
  }

 private:
  [[nodiscard]] bool misses(const DeviceValue& each, const std::optional<double>& limit) const {
    return limit && each.value * base_of(series_.unit) < *limit;
  }

  [[nodiscard]] Finding finding_of(const DeviceValue& each) const {
    const auto& group = groups_.at(each.group);
    const bool failed = misses(each, bounds_.fail_below);
    const bool warned = misses(each, bounds_.warn_below) || is_outlier(each.value, group, rule_);
    Finding finding{
        .check = std::string(check_),
        .device = each.device,
        .outcome = failed   ? Outcome::fail
                   : warned ? Outcome::warn
                            : Outcome::pass,
        .message = fmt::format("{} {} {}", series_.what, number_text(each.value), series_.unit),
        .observed = each.value,
        .unit = series_.unit,
        .remedy = failed ? Remedy::report_to_provider : Remedy::watch};
    if (group.count >= kRule.fewest) {
      const double away = each.value - group.center;
      finding.message += fmt::format("; the median of {} is {} ({:+.1f}%, {:.0f} deviations)",
                                     group.count, number_text(group.center),
                                     100 * away / group.center, std::abs(away) / group.deviation);
    }
    if (const auto& limit = failed ? bounds_.fail_below : bounds_.warn_below) {
      finding.limit = *limit / base_of(series_.unit);
    }
    finding.message += limits_text();
    return finding;
  }

  [[nodiscard]] std::string limits_text() const {
    std::string text;
    for (const auto& [word, limit] :
         {std::pair("fails below", bounds_.fail_below),
          std::pair("warns below", bounds_.warn_below), std::pair("expected", bounds_.expected)}) {
      if (!limit) continue;
      text += fmt::format("{} {} {}", text.empty() ? ";" : ",", word,
                          number_text(*limit / base_of(series_.unit)));
    }
    return text.empty() ? text : fmt::format("{} ({})", text, from_);
  }

  // No device is bad: a pass if the devices had a limit or enough sisters.
  [[nodiscard]] Finding finding_of_all() const {
    Finding finding{.check = std::string(check_),
                    .device = "node",
                    .outcome = Outcome::skip,
                    .message = fmt::format("{}: nothing was measured", series_.what)};
    if (series_.values.empty()) return finding;
    const auto [low, high] = std::ranges::minmax(series_.values, {}, &DeviceValue::value);
    finding.unit = series_.unit;
    finding.observed = series_.less_is_better ? high.value : low.value;
    finding.message =
        fmt::format("{} {} {}", series_.what, range_text(low.value, high.value), series_.unit);
    if (series_.values.size() > 1) finding.message += fmt::format(" for {}", series_.values.size());
    finding.message += limits_text();
    const bool compared = std::ranges::any_of(
        groups_, [](const auto& group) { return group.second.count >= kRule.fewest; });
    if (!bounds_.judges() && !compared) {
      finding.message += fmt::format(
          "; not judged: {} sets no limit, and fewer than {} equal devices can be compared", from_,
          kRule.fewest);
      return finding;
    }
    finding.outcome = Outcome::pass;
    if (bounds_.fail_below) finding.limit = *bounds_.fail_below / base_of(series_.unit);
    return finding;
  }

  std::string_view check_;
  const Series& series_;
  Bounds bounds_;
  std::string_view from_;
  std::map<std::string, Spread> groups_;
  OutlierRule rule_ = kRule;
};

}  // namespace

std::vector<Finding> judge(std::string_view check, const Series& series, const Bounds& bounds,
                           std::string_view from) {
  return SeriesJudge(check, series, bounds, from).findings();
}

}  // namespace muster::bench::node
