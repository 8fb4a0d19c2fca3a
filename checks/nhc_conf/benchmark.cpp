// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "checks/fault_codes.hpp"
#include "checks/nhc_conf/judging.hpp"
#include "checks/nhc_conf/table.hpp"
#include "lib/base/text.hpp"
#include "lib/report/report.hpp"

namespace muster::nhc {
namespace {

constexpr std::size_t kMostFindings = 16;
constexpr std::size_t kLongestText = 200;

// As nccl-tests reads sizes: "16G" are 16 GiB.
Result<std::uint64_t> parse_message_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMG";
  constexpr std::uint64_t kLargest = 1ULL << 40U;
  auto number = text;
  const auto letter = number.empty() ? '\0' : number.back();
  const auto unit = kUnits.find(letter >= 'a' ? static_cast<char>(letter - 'a' + 'A') : letter);
  if (unit != std::string_view::npos) number.remove_suffix(1);
  const auto value = parse_unsigned(number);
  const auto factor = unit == std::string_view::npos ? 1ULL : 1ULL << (10U * (unit + 1));
  if (!value || *value == 0 || *value > kLargest / factor) {
    return make_error(
        fmt::format("expects the size of a message as 16G, got \"{}\"", printable(text, 40)));
  }
  return *value * factor;
}

Result<int> parse_attempts(std::string_view text) {
  constexpr std::uint64_t kMost = 100;
  if (text.empty()) return 1;
  const auto value = parse_unsigned(text);
  if (!value || *value == 0 || *value > kMost) {
    return make_error(
        fmt::format("expects 1 to {} repeats, got \"{}\"", kMost, printable(text, 40)));
  }
  return static_cast<int>(*value);
}

tl::unexpected<Error> no_report(const Answer& answer) {
  std::string_view said;
  for (const auto line : split_lines(answer.err)) {
    if (said.empty()) said = trim(line);
  }
  return make_error(fmt::format("muster-bench ended with status {} and without a report{}{}",
                                answer.status,
                                said.empty() ? "" : ": ",
                                printable(said, kLongestText)));
}

Result<Report> report_in(const Answer& answer) {
  if (trim(answer.out).empty()) return no_report(answer);
  auto report = parse_report(answer.out);
  if (!report) {
    return make_error(fmt::format("what muster-bench printed is no report ({})",
                                  printable(report.error().message, kLongestText)));
  }
  if (exit_status(report->verdict) != answer.status) {
    return make_error(fmt::format("muster-bench reported {} and ended with status {}",
                                  to_string(report->verdict),
                                  answer.status));
  }
  return report;
}

Value harmless_value(Value value) {
  if (auto* text = std::get_if<std::string>(&value)) *text = printable(*text, kLongestText);
  return value;
}

// Findings about the node as a whole are about "node" here, others lose its name.
std::string device_in(const Report& report, std::string_view device) {
  if (device.empty() || device == report.node || device == "job") return std::string(checks::kNode);
  const auto prefix = fmt::format("{}/", report.node);
  if (device.starts_with(prefix)) device.remove_prefix(prefix.size());
  return printable(device, kLongestText);
}

Verdict verdict_by(const Findings& findings) {
  const auto has = [&](Outcome outcome) {
    return std::ranges::any_of(findings,
                               [&](const Finding& each) { return each.outcome == outcome; });
  };
  if (has(Outcome::fail)) return Verdict::unhealthy;
  return has(Outcome::unknown) ? Verdict::unknown : Verdict::healthy;
}

bool answers(const Finding& finding, const Benchmark& asked) {
  return std::ranges::find(asked.checks, finding.check) != asked.checks.end();
}

bool has_limit(const Finding& finding) {
  return !std::holds_alternative<std::monostate>(finding.limit);
}

// What is wrong, and what the numbers with a limit came to.
bool is_taken(const Finding& finding, const Benchmark& asked) {
  if (finding.outcome == Outcome::skip) return false;
  return finding.outcome != Outcome::pass || (answers(finding, asked) && has_limit(finding));
}

Findings taken_from(const Report& report, const Benchmark& asked) {
  Findings taken;
  for (const auto& finding : report.findings) {
    if (!is_taken(finding, asked)) continue;
    taken.push_back({.device = device_in(report, finding.device),
                     .outcome = finding.outcome,
                     .message = finding.message,
                     .observed = harmless_value(finding.observed),
                     .limit = harmless_value(finding.limit),
                     .unit = printable(finding.unit, 20),
                     .remedy = finding.remedy,
                     .code = finding.outcome == Outcome::fail ? asked.code : std::string()});
    taken.back().category = impact_category(taken.back().code);
  }
  std::ranges::stable_sort(taken, {}, [](const Finding& each) { return rank(each.outcome); });
  if (taken.size() > kMostFindings) taken.resize(kMostFindings);
  return taken;
}

// The checks that no number with a limit was judged for, each with what muster-bench says of it.
Findings not_answered(const Report& report, const Benchmark& asked, bool any_taken) {
  Findings findings;
  for (const auto& check : asked.checks) {
    const Finding* said = nullptr;
    const bool told = std::ranges::any_of(report.findings, [&](const Finding& finding) {
      if (finding.check != check) return false;
      if (finding.outcome == Outcome::skip) said = &finding;
      return finding.outcome != Outcome::skip &&
             (finding.outcome != Outcome::pass || has_limit(finding));
    });
    // What went wrong before anything was measured has been said.
    const bool explained = said == nullptr && report.verdict != Verdict::healthy && any_taken;
    if (told || explained) continue;
    findings.push_back(not_judged(
        said != nullptr ? printable(said->message, kLongestText)
                        : fmt::format("muster-bench reported {}, and its findings do not say so",
                                      to_string(report.verdict))));
  }
  return findings;
}

Result<std::size_t> gpus_of(const Section<Nvml>& nvml) {
  if (nvml.ok() && !nvml->gpus.empty()) return nvml->gpus.size();
  const auto& why = nvml.ok() ? nvml->trouble : nvml.reason;
  return make_error(
      fmt::format("NVML lists no GPU{}{}", why.empty() ? "" : ": ", printable(why, 120)));
}

}  // namespace

Result<double> bandwidth_in(std::string_view text, std::string_view unit) {
  const auto value = parse_number(text);
  if (value && *value > 0) return *value;
  return make_error(
      fmt::format("expects a bandwidth in {} above zero, got \"{}\"", unit, printable(text, 40)));
}

Result<Benchmark> all_reduce_benchmark(const CheckLine& line, std::size_t gpus) {
  const auto bandwidth = bandwidth_in(argument(line.arguments, 0), "GB/s");
  if (!bandwidth) return tl::unexpected(bandwidth.error());
  const auto attempts = parse_attempts(argument(line.arguments, 1));
  if (!attempts) return tl::unexpected(attempts.error());
  // On this node's GPUs and nowhere else, whatever job this is part of: host memory is no answer.
  Benchmark benchmark{.words = {"all_reduce",
                                "--backend=nccl",
                                "--launch=alone",
                                fmt::format("--local={}", gpus),
                                fmt::format("--min-busbw={} GB/s", *bandwidth),
                                "--format=json",
                                "--verbose"},
                      .environment = {},
                      .topology_file = {},
                      .attempts = *attempts};
  if (const auto word = argument(line.arguments, 2); !word.empty()) {
    const auto size = parse_message_size(word);
    if (!size) return tl::unexpected(size.error());
    benchmark.words.push_back(fmt::format("--sizes={}", *size));
    benchmark.words.push_back(fmt::format("--at={}", *size));
  }
  return benchmark;
}

Result<Benchmark> loopback_benchmark(const CheckLine& line, std::size_t gpus) {
  auto benchmark = all_reduce_benchmark(line, gpus);
  if (!benchmark) return benchmark;
  if (!line.unresolved.empty()) {
    return make_error(fmt::format("the variable ${} is not known", printable(line.unresolved, 40)));
  }
  benchmark->words.emplace_back("--require-transport=ib");
  benchmark->environment = {{"NCCL_P2P_DISABLE", "1"},
                            {"NCCL_SHM_DISABLE", "1"},
                            {"NCCL_NET_GDR_LEVEL", "5"},
                            {"NCCL_IB_PCI_RELAXED_ORDERING", "1"}};
  benchmark->topology_file = argument(line.arguments, 3);
  if (!benchmark->topology_file.empty()) {
    benchmark->environment["NCCL_TOPO_FILE"] = benchmark->topology_file;
  }
  return benchmark;
}

std::vector<BenchmarkLine> benchmarks_on(const Config& config, const Snapshot& snapshot) {
  std::vector<BenchmarkLine> lines;
  for (const auto& line : check_lines_on(config, snapshot.identity->hostname)) {
    const Row* row = row_named(line.check);
    if (row == nullptr || row->benchmark == nullptr) continue;
    const auto gpus = row->of_gpus ? gpus_of(snapshot.nvml) : Result<std::size_t>(0);
    lines.push_back({.number = line.number,
                     .benchmark = gpus ? row->benchmark(line, *gpus)
                                       : Result<Benchmark>(tl::unexpected(gpus.error()))});
  }
  return lines;
}

std::vector<Finding> findings_of(const Answer& answer, const Benchmark& asked) {
  const auto report = report_in(answer);
  if (!report) return {not_judged(report.error().message)};
  auto findings = taken_from(*report, asked);
  auto missing = not_answered(*report, asked, !findings.empty());
  // Where nothing was judged muster-bench is undecided, too.
  const bool undecided = findings.empty() && !missing.empty();
  if (verdict_by(findings) != report->verdict &&
      !(undecided && report->verdict == Verdict::unknown)) {
    return {not_judged(fmt::format("muster-bench reported {}, and its findings do not say so",
                                   to_string(report->verdict)))};
  }
  std::ranges::move(missing, std::back_inserter(findings));
  return findings;
}

}  // namespace muster::nhc
