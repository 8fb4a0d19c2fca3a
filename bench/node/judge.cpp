// SPDX-License-Identifier: Apache-2.0
#include "bench/node/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/results/statistics.hpp"

namespace muster::bench::node {
namespace {

constexpr std::size_t kEnough = 4;
constexpr double kDeviations = 5;

// What one of the series' unit is in the base unit of the limits.
double base_of(std::string_view unit) {
  if (unit == "TFLOPS") return 1e12;
  if (unit == "GB/s" || unit == "Gb/s") return 1e9;
  return 1;
}

std::string number(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

class Judge {
 public:
  Judge(std::string_view check, const Series& series, const Bounds& bounds, std::string_view from)
      : check_(check), series_(series), bounds_(series.limited ? bounds : Bounds{}), from_(from) {
    std::map<std::string, std::vector<double>> values;
    std::vector<double> noises;
    for (const auto& each : series.values) {
      values[each.group].push_back(each.value);
      noises.push_back(each.noise);
    }
    for (const auto& [name, group] : values) groups_[name] = spread_of(group);
    if (!noises.empty()) noise_ = median_of(std::move(noises));
  }

  [[nodiscard]] std::vector<Finding> findings() const {
    std::vector<Finding> bad;
    for (const auto& each : series_.values) {
      auto finding = finding_of(each);
      if (finding.outcome != Outcome::pass) bad.push_back(std::move(finding));
    }
    if (bad.empty()) bad.push_back(of_all());
    return bad;
  }

 private:
  [[nodiscard]] bool is_behind(const DeviceValue& each) const {
    const auto& group = groups_.at(each.group);
    if (group.count < kEnough || group.median <= 0) return false;
    const double behind =
        series_.less_is_better ? each.value - group.median : group.median - each.value;
    const double share = std::max(series_.tolerance, kDeviations * noise_);
    return behind > kDeviations * group.deviation && behind > share * group.median;
  }

  [[nodiscard]] bool misses(const DeviceValue& each, const std::optional<double>& limit) const {
    return limit && each.value * base_of(series_.unit) < *limit;
  }

  [[nodiscard]] Finding finding_of(const DeviceValue& each) const {
    const bool behind = is_behind(each);
    const bool failed = misses(each, bounds_.fail_below);
    const bool warned = misses(each, bounds_.warn_below) || behind;
    Finding finding{
        .check = std::string(check_),
        .device = each.device,
        .outcome = failed   ? Outcome::fail
                   : warned ? Outcome::warn
                            : Outcome::pass,
        .message = fmt::format("{} {} {}", series_.what, number(each.value), series_.unit),
        .observed = each.value,
        .unit = series_.unit,
        .remedy = failed ? Remedy::report_to_provider : Remedy::watch};
    if (const auto& group = groups_.at(each.group); group.count >= kEnough) {
      const double away = (each.value - group.median) / group.median;
      finding.message += fmt::format("; the median of {} is {} ({:+.1f}%, {:.0f} deviations)",
                                     group.count, number(group.median), 100 * away,
                                     std::abs(each.value - group.median) / group.deviation);
    }
    if (const auto& limit = failed ? bounds_.fail_below : bounds_.warn_below) {
      finding.limit = *limit / base_of(series_.unit);
    }
    finding.message += limits_text();
    return finding;
  }

  [[nodiscard]] std::string limits_text() const {
    std::string text;
    const auto add = [&](std::string_view word, const std::optional<double>& limit) {
      if (!limit) return;
      text += fmt::format("{} {} {}", text.empty() ? ";" : ",", word,
                          number(*limit / base_of(series_.unit)));
    };
    add("fails below", bounds_.fail_below);
    add("warns below", bounds_.warn_below);
    add("expected", bounds_.expected);
    return text.empty() ? text : fmt::format("{} ({})", text, from_);
  }

  // No device is bad: a pass where something was judged.
  [[nodiscard]] Finding of_all() const {
    Finding finding{.check = std::string(check_),
                    .device = "node",
                    .outcome = Outcome::skip,
                    .message = fmt::format("{}: nothing was measured", series_.what)};
    if (series_.values.empty()) return finding;
    const auto [low, high] = std::ranges::minmax_element(series_.values, {}, &DeviceValue::value);
    const auto count = series_.values.size();
    finding.unit = series_.unit;
    finding.observed = series_.less_is_better ? high->value : low->value;
    finding.message =
        fmt::format("{} {} {}", series_.what, range(low->value, high->value), series_.unit);
    if (count > 1) finding.message += fmt::format(" for {}", count);
    const bool compared = std::ranges::any_of(
        groups_, [](const auto& group) { return group.second.count >= kEnough; });
    if (bounds_.judges() || compared) {
      finding.outcome = Outcome::pass;
      if (bounds_.fail_below) finding.limit = *bounds_.fail_below / base_of(series_.unit);
    }
    finding.message += limits_text();
    if (finding.outcome == Outcome::skip) {
      finding.message += fmt::format(
          "; not judged: {} has no limit for it, and there are fewer "
          "than {} of a kind to compare",
          from_, kEnough);
    }
    return finding;
  }

  [[nodiscard]] static std::string range(double low, double high) {
    const auto from = number(low);
    const auto to = number(high);
    return from == to ? from : fmt::format("{} to {}", from, to);
  }

  std::string_view check_;
  const Series& series_;
  Bounds bounds_;
  std::string_view from_;
  std::map<std::string, Spread> groups_;
  double noise_ = 0;  // of the middle device
};

}  // namespace

std::vector<Finding> judge(std::string_view check, const Series& series, const Bounds& bounds,
                           std::string_view from) {
  return Judge(check, series, bounds, from).findings();
}

}  // namespace muster::bench::node
