// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <variant>

#include "checks/impact_categories.hpp"
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

// A number above zero; `unit` is for the message.
Result<double> bandwidth_in(std::string_view text, std::string_view unit) {
  const auto value = parse_number(text);
  if (value && *value > 0) return *value;
  return make_error(
      fmt::format("expects a bandwidth in {} above zero, got \"{}\"", unit, printable(text, 40)));
}

// One rank is run on each GPU. Of the variables of the line only those that are needed have to be
// known.
Result<Benchmark> all_reduce_benchmark(const CheckLine& line, std::size_t gpus) {
  TRY_ASSIGN(const auto bandwidth, bandwidth_in(argument(line.arguments, 0), "GB/s"));
  TRY_ASSIGN(const auto attempts, parse_attempts(argument(line.arguments, 1)));
  // On this node's GPUs and nowhere else, whatever job this is part of: host memory is no answer.
  Benchmark benchmark{
      .words = {"all_reduce", "--backend=nccl", "--launch=alone", fmt::format("--local={}", gpus),
                fmt::format("--min-busbw={} GB/s", bandwidth), "--format=json", "--verbose"},
      .attempts = attempts};
  if (const auto word = argument(line.arguments, 2); !word.empty()) {
    TRY_ASSIGN(const auto size, parse_message_size(word));
    benchmark.words.push_back(fmt::format("--sizes={}", size));
    benchmark.words.push_back(fmt::format("--at={}", size));
  }
  return benchmark;
}

// The same with NCCL's paths within the node switched off, so that all data pass the adapters.
Result<Benchmark> loopback_benchmark(const CheckLine& line, std::size_t gpus) {
  auto benchmark = all_reduce_benchmark(line, gpus);
  if (!benchmark) return benchmark;
  if (!line.unresolved.empty()) return make_error(unknown_variable(line));
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

// The line's limits alone judge: `generic` has none of its own.
Benchmark node_benchmark(std::string_view tests, std::string_view code) {
  return {.words = {"node", "--profile=generic", fmt::format("--only={}", tests), "--format=json",
                    "--verbose"},
          .checks = {},
          .code = std::string(code),
          .own_profile = true};
}

struct LineLimit {
  std::string_view name;  // below `bench` in a profile
  double fail_below = 0;
  double warn_below = 0;
  std::string_view unit;
};

void judge_by(Benchmark& benchmark, const LineLimit& limit) {
  const auto set = [&](std::string_view key, double value) {
    benchmark.words.push_back(
        fmt::format("--set=bench.{}.{}={:.9g} {}", limit.name, key, value, limit.unit));
  };
  set("fail_below", limit.fail_below);
  set("warn_below", limit.warn_below);
  benchmark.checks.push_back(fmt::format("bench.{}", limit.name));
}

// The limit that a line names, all of whose variables have to be known.
Result<double> limit_in(const CheckLine& line, std::string_view word, std::string_view unit) {
  if (!line.unresolved.empty()) return make_error(unknown_variable(line));
  return bandwidth_in(word, unit);
}

// H2D_AND_D2H [P2P], in GB/s. Azure's script warns up to 5% above the limit, and copies between
// GPUs where there are several.
Result<Benchmark> gpu_copy_benchmark(const CheckLine& line, std::size_t gpus) {
  constexpr double kWarns = 1.05;
  constexpr std::string_view kUnit = "GB/s";
  TRY_ASSIGN(const auto host, limit_in(line, argument(line.arguments, 0), kUnit));
  const auto second = argument(line.arguments, 1);
  const bool peers = !second.empty() && gpus > 1;
  auto benchmark = node_benchmark(peers ? "gpu.copy,gpu.p2p" : "gpu.copy", "NHC2020");
  judge_by(benchmark, {"host_copy", host, kWarns * host, kUnit});
  if (second.empty()) return benchmark;
  TRY_ASSIGN(const auto peer, bandwidth_in(second, kUnit));
  if (peers) judge_by(benchmark, {"peer_copy", peer, kWarns * peer, kUnit});
  return benchmark;
}

// [BANDWIDTH], in MB/s as STREAM prints it: copy, scale, add and triad each.
Result<Benchmark> stream_benchmark(const CheckLine& line, std::size_t /*gpus*/) {
  constexpr std::string_view kUnit = "MB/s";
  constexpr std::string_view kWithout = "580000";
  const auto word = argument(line.arguments, 0);
  TRY_ASSIGN(const auto limit, limit_in(line, word.empty() ? kWithout : word, kUnit));
  auto benchmark = node_benchmark("host.stream", "NHC2001");
  judge_by(benchmark, {"stream", limit, limit, kUnit});
  return benchmark;
}

// BANDWIDTH [SIZE], in Gb/s and bytes: writes of each HCA to itself from host memory.
Result<Benchmark> hca_benchmark(const CheckLine& line, std::size_t /*gpus*/) {
  constexpr std::string_view kUnit = "Gb/s";
  constexpr std::uint64_t kSize = 1UL << 20U;
  TRY_ASSIGN(const auto limit, limit_in(line, argument(line.arguments, 0), kUnit));
  const auto word = argument(line.arguments, 1);
  const auto size = word.empty() ? Result<std::uint64_t>(kSize) : parse_unsigned(word);
  constexpr std::uint64_t kLargest = 64UL << 20U;
  if (!size || *size < sizeof(std::uint64_t) || *size > kLargest) {
    return make_error(
        fmt::format("expects a size of 8 bytes to 64 MiB, got \"{}\"", printable(word, 40)));
  }
  auto benchmark = node_benchmark("ib.loopback", "NHC2003");
  judge_by(benchmark, {"hca_write", limit, limit, kUnit});
  benchmark.words.push_back(fmt::format("--set=bench.hca_write.size={} B", *size));
  return benchmark;
}

// The same in messages of 8 MiB from the memory of GPUs.
Result<Benchmark> gpu_hca_benchmark(const CheckLine& line, std::size_t gpus) {
  auto asked = line;
  asked.arguments = {std::string(argument(line.arguments, 0)), "8388608"};
  auto benchmark = hca_benchmark(asked, gpus);
  if (benchmark) benchmark->words.emplace_back("--set=bench.hca_write.memory=gpu");
  return benchmark;
}

tl::unexpected<Error> no_report(const Answer& answer) {
  std::string_view said;
  for (const auto line : split_lines(answer.err)) {
    if (said.empty()) said = trim(line);
  }
  return make_error(fmt::format("muster-bench ended with status {} and without a report{}{}",
                                answer.status, said.empty() ? "" : ": ",
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
                                  to_string(report->verdict), answer.status));
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
    return std::ranges::count(findings, outcome, &Finding::outcome) > 0;
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

Row on_request(std::string_view name, PlanBenchmark plan, bool of_gpus) {
  return {.name = name,
          .otherwise = Outcome::skip,
          .why = "a benchmark, which is run with --active only",
          .benchmark = plan,
          .of_gpus = of_gpus};
}

Row unmeasured(std::string_view name) {
  return {.name = name,
          .otherwise = Outcome::skip,
          .why =
              "a benchmark of a kind that muster-bench has none of: --active does not run it "
              "either"};
}

}  // namespace

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

std::vector<Row> benchmark_rows() {
  return {
      on_request("check_nccl_allreduce", all_reduce_benchmark, true),
      on_request("check_nccl_allreduce_ib_loopback", loopback_benchmark, true),
      on_request("check_gpu_bw", gpu_copy_benchmark, true),
      on_request("check_ib_bw_gdr", gpu_hca_benchmark, false),
      on_request("check_ib_bw_non_gdr", hca_benchmark, false),
      on_request("check_cpu_stream", stream_benchmark, false),
      unmeasured("check_rccl_allreduce"),
      unmeasured("check_rocm_gpu_bw"),
  };
}

}  // namespace muster::nhc
