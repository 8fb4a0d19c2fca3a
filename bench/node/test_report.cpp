// SPDX-License-Identifier: Apache-2.0
#include "bench/node/test_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/report/finding.hpp"
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
  if (value >= 10) return fmt::format("{:.1f}", value);
  return value >= 0.1 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
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
      : check_(check),
        series_(series),
        bounds_(series.limited ? bounds : Bounds{}),
        has_limit_(bounds.judges()),
        from_(from) {
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
      const double difference = each.value - group.center;
      finding.message +=
          fmt::format("; the median of {} is {} ({:+.1f}%, {:.0f} deviations)", group.count,
                      number_text(group.center), 100 * difference / group.center,
                      std::abs(difference) / group.deviation);
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
      text += fmt::format("{} {} {} {}", text.empty() ? ";" : ",", word,
                          number_text(*limit / base_of(series_.unit)), series_.unit);
    }
    return text.empty() ? text : fmt::format("{} ({})", text, from_);
  }

  // No device is bad: a pass if the devices had a limit or could be compared.
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
      finding.message +=
          fmt::format("; not judged: {}, and fewer than {} equal devices can be compared",
                      has_limit_ ? fmt::format("the limit of {} is not for it", from_)
                                 : fmt::format("{} sets no limit", from_),
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
  bool has_limit_;  // of this series or another one
  std::string_view from_;
  std::map<std::string, Spread> groups_;
  OutlierRule rule_ = kRule;
};

std::string cell_text(const std::optional<double>& value) {
  if (!value) return "-";
  return *value < 100 ? fmt::format("{:.1f}", *value) : fmt::format("{:.0f}", *value);
}

std::string values_text(const Series& series) {
  if (series.values.empty()) return fmt::format("{}: no value", series.what);
  const auto [low, high] = std::ranges::minmax_element(series.values, {}, &DeviceValue::value);
  if (low->value == high->value) {
    return fmt::format("{} {:.4g} {}", series.what, low->value, series.unit);
  }
  return fmt::format("{} {:.4g} to {:.4g} {}", series.what, low->value, high->value, series.unit);
}

// True for the pair "mlx5_ib0-mlx5_ib5" and mlx5_ib5.
bool is_pair_with(std::string_view pair, const std::string& device) {
  return pair.starts_with(fmt::format("{}-", device)) || pair.ends_with(fmt::format("-{}", device));
}

// Drops the warnings about a device that fails, and those about pairs with a named device.
void drop_consequences(std::vector<Finding>& findings) {
  const auto all = findings;
  std::erase_if(findings, [&](const Finding& finding) {
    if (finding.outcome != Outcome::warn) return false;
    return std::ranges::any_of(all, [&](const Finding& other) {
      const bool named = other.outcome == Outcome::fail || other.outcome == Outcome::warn;
      return (other.outcome == Outcome::fail && other.device == finding.device) ||
             (named && is_pair_with(finding.device, other.device));
    });
  });
}

// The source of a test's limits: "profile x", "--set", or both.
std::string source_of_limits(const NodeTest& test, const Profile& profile) {
  const auto bounds = bounds_of_test(test, profile);
  const std::array numbers{std::pair{"fail_below", bounds.fail_below},
                           std::pair{"warn_below", bounds.warn_below},
                           std::pair{"expected", bounds.expected}};
  int set = 0;
  int named = 0;
  for (const auto& [key, value] : numbers) {
    if (!value) continue;
    const auto written = profile.values.find(fmt::format("{}.{}", test.check, key));
    ++(written != profile.values.end() && written->second.origin.file == "--set" ? named : set);
  }
  if (named > 0 && set == 0) return "--set";
  return fmt::format("profile {}{}", profile.name, named > 0 ? " and --set" : "");
}

bool is_visible(const muster::Gpu& gpu, const std::string& visible) {
  const auto words = split(visible, ',');
  const bool numbers = std::ranges::all_of(
      words, [](std::string_view word) { return parse_unsigned(trim(word)).has_value(); });
  if (visible.empty() || !numbers) return true;
  return std::ranges::find(words, fmt::format("{}", gpu.index), trim) != words.end();
}

std::string name_of(const GpuProcess& process) {
  const auto name = process.name.empty() ? "a process outside this container" : process.name;
  const auto job = process.job.empty() ? std::string() : fmt::format(", job {}", process.job);
  return fmt::format("{} (process {}{})", printable(name, 80), process.pid, printable(job, 40));
}

}  // namespace

std::vector<Finding> judge(std::string_view check, const Series& series, const Bounds& bounds,
                           std::string_view from) {
  return SeriesJudge(check, series, bounds, from).findings();
}

Bounds bounds_of_test(const NodeTest& test, const Profile& profile) {
  return test.bounds == nullptr ? Bounds{} : test.bounds(*profile.bench);
}

std::vector<Finding> findings_of(const TestRun& ran, const Profile& profile) {
  const auto& test = *ran.test;
  if (!ran.result) {
    const auto& [least_gpus, hcas] = test.devices;
    const bool expected =
        (least_gpus > 0 && profile.gpu->present.count.value_or(0) >= least_gpus) ||
        (hcas && profile.ib->present.count.value_or(0) > 0);
    return {make_finding(test.check, "node",
                         ran.result.error().missing && !expected ? Outcome::skip : Outcome::unknown,
                         fmt::format("{}: {}", test.name, ran.result.error().message))};
  }
  auto findings = ran.result->findings;
  for (auto& finding : findings) finding.check = test.check;
  const auto bounds = bounds_of_test(test, profile);
  const auto from = source_of_limits(test, profile);
  for (const auto& series : ran.result->series) {
    std::ranges::move(judge(test.check, series, bounds, from), std::back_inserter(findings));
  }
  drop_consequences(findings);
  const bool measured =
      std::ranges::any_of(ran.result->series, [](const Series& each) { return each.limited; });
  if (bounds.judges() && !measured && !ran.result->series.empty()) {
    const bool own = from.ends_with("--set");
    const auto& unlike = ran.result->unlike;
    findings.push_back(
        make_finding(test.check, "node", own ? Outcome::unknown : Outcome::skip,
                     fmt::format("the limit of {} is not judged: {} {}", from, test.name,
                                 unlike.empty() ? "did not measure its quantity" : unlike)));
  }
  if (findings.empty()) {
    findings.push_back(make_finding(test.check, "node", Outcome::unknown,
                                    fmt::format("{} measured nothing", test.name)));
  }
  return findings;
}

void leave_undecided_without_tests(std::vector<Finding>& findings) {
  const bool judged = std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.check != kInUse && finding.outcome != Outcome::skip;
  });
  if (judged) return;
  for (auto& finding : findings) {
    if (finding.outcome == Outcome::pass) finding.outcome = Outcome::skip;
  }
}

std::vector<Measurement> measurements_of(const TestRun& ran) {
  std::vector<Measurement> measurements;
  if (!ran.result) return measurements;
  for (const auto& series : ran.result->series) {
    for (const auto& each : series.values) {
      Measurement measurement{
          .quantity = series.quantity, .value = each.value, .unit = series.unit};
      measurement.conditions = {.size_bytes = series.size_bytes,
                                .ranks = 1,
                                .nodes = 1,
                                .backend = ran.test->devices.gpus > 0 ? "cuda"
                                           : ran.test->devices.hcas   ? "verbs"
                                                                      : "host",
                                .iterations = series.iterations,
                                .test = std::string(ran.test->name),
                                .device = each.device};
      measurement.repeats = each.repeats;
      measurements.push_back(std::move(measurement));
    }
  }
  return measurements;
}

std::vector<std::string> lines_of(const Matrix& matrix) {
  std::size_t width = 5;
  for (const auto& name : matrix.names) width = std::max(width, name.size());
  std::vector<std::string> lines{matrix.title};
  auto& header = lines.emplace_back(fmt::format("{:{}}", "", width));
  for (const auto& name : matrix.names) header += fmt::format(" {:>{}}", name, width);
  for (std::size_t row = 0; row < matrix.names.size(); ++row) {
    auto& line = lines.emplace_back(fmt::format("{:{}}", matrix.names[row], width));
    for (const auto& value : matrix.cells[row])
      line += fmt::format(" {:>{}}", cell_text(value), width);
  }
  return lines;
}

std::string summary_of(const TestRun& ran) {
  std::string text;
  if (!ran.result) {
    text = ran.result.error().message;
  } else {
    for (const auto& series : ran.result->series) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", values_text(series));
    }
  }
  if (text.empty()) {
    const auto passed = std::ranges::count(ran.result->findings, Outcome::pass, &Finding::outcome);
    text = fmt::format("{} of {} devices pass", passed, ran.result->findings.size());
  }
  text = fmt::format("{}: {} ({:.1f} s)\n", ran.test->name, text, ran.seconds);
  if (!ran.result) return text;
  for (const auto& line : ran.result->lines) text += fmt::format("  {}\n", line);
  for (const auto& matrix : ran.result->matrices) {
    for (const auto& line : lines_of(matrix)) text += fmt::format("  {}\n", line);
  }
  return text;
}

std::vector<Finding> judge_use(const Section<Nvml>& nvml, const std::string& visible) {
  if (nvml.status == Status::absent)
    return {make_finding(kInUse, "node", Outcome::skip, nvml.reason)};
  const auto trouble = nvml.ok() ? nvml->trouble : nvml.reason;
  if (!trouble.empty()) {
    return {make_finding(kInUse, "node", Outcome::unknown,
                         fmt::format("NVML cannot list processes: {}", trouble))};
  }
  std::vector<Finding> findings;
  for (const auto& gpu : nvml->gpus) {
    if (!is_visible(gpu, visible) || !gpu.processes || gpu.processes->empty()) continue;
    std::vector<std::string> names;
    for (const auto& process : *gpu.processes) names.push_back(name_of(process));
    findings.push_back(make_finding(kInUse, fmt::format("gpu{}", gpu.index), Outcome::unknown,
                                    fmt::format("in use by {}", fmt::join(names, ", "))));
  }
  if (findings.empty()) {
    findings.push_back(
        make_finding(kInUse, "node", nvml->gpus.empty() ? Outcome::skip : Outcome::pass,
                     fmt::format("no process uses the {}", counted(nvml->gpus.size(), "GPU"))));
  }
  return findings;
}

void add_causes(std::vector<Finding>& findings, const Section<Nvml>& nvml) {
  for (auto& finding : findings) {
    const bool bad = finding.outcome == Outcome::fail || finding.outcome == Outcome::warn;
    if (!bad || finding.check != "bench.host_copy") continue;
    const auto gpu = std::ranges::find_if(nvml->gpus, [&](const muster::Gpu& each) {
      return fmt::format("gpu{}", each.index) == finding.device;
    });
    if (gpu == nvml->gpus.end() || !gpu->link.width || !gpu->link.width_max) continue;
    if (*gpu->link.width >= *gpu->link.width_max) continue;
    finding.message +=
        fmt::format("; its PCI link has {} of {} lanes", *gpu->link.width, *gpu->link.width_max);
  }
}

std::string first_use(const std::vector<Finding>& findings) {
  const auto busy = std::ranges::find_if(findings, [](const Finding& finding) {
    return finding.outcome == Outcome::unknown && finding.device != "node";
  });
  return busy == findings.end() ? "" : fmt::format("{} is {}", busy->device, busy->message);
}

}  // namespace muster::bench::node
