// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/results/bandwidth.hpp"
#include "lib/base/units.hpp"

namespace muster::bench {
namespace {

constexpr std::string_view kCheck = "bench.split";
constexpr OutlierRule kRule{.share = 0.03};
constexpr double kFails = 0.1;

std::uint64_t judged_size(const std::vector<PartResult>& parts, const OwnLimit& own_limit) {
  std::uint64_t largest = 0;
  for (const auto& row : parts.front().rows) largest = std::max(largest, row.operation.bytes);
  return own_limit.at.value_or(largest);
}

// The bandwidth of the slower placement; empty if the size was not run.
std::optional<double> bus_of(const PartResult& part, std::uint64_t bytes) {
  std::optional<double> slower;
  for (const auto& row : part.rows) {
    if (row.operation.bytes != bytes) continue;
    for_each_placement(row, [&](const Timing& timing, bool /*in_place*/) {
      slower = std::min(slower.value_or(timing.judged.bus), timing.judged.bus);
    });
  }
  return slower;
}

std::vector<double> values_of(const std::vector<PartResult>& parts, std::uint64_t bytes) {
  std::vector<double> values;
  for (const auto& part : parts) {
    if (const auto bus = bus_of(part, bytes)) values.push_back(*bus);
  }
  return values;
}

Finding finding(std::string device, Outcome outcome, std::string message) {
  return {.check = std::string(kCheck),
          .device = std::move(device),
          .outcome = outcome,
          .message = std::move(message)};
}

std::optional<Finding> outlier(const PartResult& part, std::uint64_t bytes,
                               const std::vector<double>& all, const OwnLimit& own_limit) {
  const double value = bus_of(part, bytes).value_or(0);
  const double median = median_of(all);
  const bool below = own_limit.min_busbw && value < own_limit.min_busbw->value;
  const bool behind = is_outlier(value, all, kRule);
  if (!below && !behind) return {};
  const bool fails = below || value < median * (1 - kFails);
  auto found = finding(
      part.name, fails ? Outcome::fail : Outcome::warn,
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

std::vector<Finding> judge_split(const std::vector<PartResult>& parts, const OwnLimit& own_limit) {
  const auto bytes = judged_size(parts, own_limit);
  const auto values = values_of(parts, bytes);
  if (values.size() != parts.size()) {
    return {finding("job", Outcome::unknown, fmt::format("{} was not run", size_text(bytes)))};
  }
  std::vector<Finding> findings;
  for (const auto& part : parts) {
    if (auto found = outlier(part, bytes, values, own_limit)) findings.push_back(*std::move(found));
  }
  if (!findings.empty()) return findings;
  if (parts.size() < kRule.fewest && !own_limit.min_busbw) {
    return {finding("job", Outcome::unknown,
                    fmt::format("not judged: {} parts are too few to compare; give --min-busbw",
                                parts.size()))};
  }
  const auto [least, most] = std::ranges::minmax(values);
  return {
      finding("job", Outcome::pass,
              fmt::format("{} parts of {} ranks or more: {:.2f} to {:.2f} GB/s at {}", parts.size(),
                          std::ranges::min_element(
                              parts, {}, [](const PartResult& part) { return part.ranks.size(); })
                              ->ranks.size(),
                          least / kGiga, most / kGiga, size_text(bytes)))};
}

std::string split_table(const std::vector<PartResult>& parts, const OwnLimit& own_limit) {
  const auto bytes = judged_size(parts, own_limit);
  const auto values = values_of(parts, bytes);
  if (values.empty()) return {};
  const double median = median_of(values);
  auto text = fmt::format("#\n# {:<24}  {:>12}  {:>13}\n", "part", "busbw (GB/s)", "of the median");
  for (const auto& part : parts) {
    const double value = bus_of(part, bytes).value_or(0);
    text.append(fmt::format("# {:<24}  {:>12.2f}  {:>12.1f}%{}\n", part.name, value / kGiga,
                            100 * value / median, is_outlier(value, values, kRule) ? "  <" : ""));
  }
  return text;
}

}  // namespace muster::bench
