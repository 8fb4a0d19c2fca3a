// SPDX-License-Identifier: Apache-2.0
// The lines that ask for a benchmark.

#include <variant>

#include "checks/nhc_conf/table.hpp"
#include "checks/run.hpp"

namespace muster::nhc {
namespace {

constexpr std::size_t kMaxFindings = 16;
constexpr std::size_t kLongestText = 200;

// "16G" is 16 GiB, as in nccl-tests.
Result<std::uint64_t> parse_message_size(std::string_view text) {
  constexpr std::string_view kUnits = "KkMmGg";
  constexpr std::uint64_t kLargest = 1ULL << 40U;
  const auto unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  const bool has_unit = unit != std::string_view::npos;
  const auto value = parse_unsigned(text.substr(0, text.size() - (has_unit ? 1 : 0)));
  const auto factor = has_unit ? 1ULL << (10U * (unit / 2 + 1)) : 1ULL;
  if (value && *value > 0 && *value <= kLargest / factor) return *value * factor;
  return unexpected_word(text, "the size of a message such as 16G");
}

Result<int> parse_attempts(std::string_view text) {
  constexpr std::uint64_t kMaxRepeats = 100;
  if (text.empty()) return 1;
  const auto value = parse_unsigned(text);
  if (value && *value > 0 && *value <= kMaxRepeats) return static_cast<int>(*value);
  return unexpected_word(text, fmt::format("1 to {} repeats", kMaxRepeats));
}

Result<double> parse_bandwidth(std::string_view text, std::string_view unit) {
  const auto value = parse_number(text);
  if (value && *value > 0) return *value;
  return unexpected_word(text, fmt::format("a bandwidth in {} above zero", unit));
}

// A run of `muster-bench node`. The profile `generic` has no limits of its own.
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

void add_limit(Benchmark& benchmark, const LineLimit& limit) {
  const auto set = [&](std::string_view key, double value) {
    benchmark.words.push_back(
        fmt::format("--set=bench.{}.{}={:.9g} {}", limit.name, key, value, limit.unit));
  };
  set("fail_below", limit.fail_below);
  set("warn_below", limit.warn_below);
  benchmark.checks.push_back(fmt::format("bench.{}", limit.name));
}

Value printable_value(Value value) {
  if (auto* text = std::get_if<std::string>(&value)) *text = printable(*text, kLongestText);
  return value;
}

// The node itself is "node"; a device loses the name of its node.
std::string device_in(const Report& report, std::string_view device) {
  if (device.empty() || device == report.node || device == "job") return std::string(checks::kNode);
  const auto prefix = fmt::format("{}/", report.node.value_or(""));
  if (device.starts_with(prefix)) device.remove_prefix(prefix.size());
  return printable(device, kLongestText);
}

Verdict verdict_of(const Findings& findings) {
  const auto has = [&](Outcome outcome) {
    return std::ranges::count(findings, outcome, &Finding::outcome) > 0;
  };
  if (has(Outcome::fail)) return Verdict::unhealthy;
  return has(Outcome::unknown) ? Verdict::unknown : Verdict::healthy;
}

bool has_limit(const Finding& finding) {
  return !std::holds_alternative<std::monostate>(finding.limit);
}

// Everything that is wrong, and the passes that were compared with a limit of the line.
Findings findings_in(const Report& report, const Benchmark& benchmark) {
  Findings findings;
  for (const auto& finding : report.findings) {
    const bool decides = std::ranges::count(benchmark.checks, finding.check) > 0;
    if (finding.outcome == Outcome::skip) continue;
    if (finding.outcome == Outcome::pass && !(decides && has_limit(finding))) continue;
    auto& copy = findings.emplace_back(finding);
    copy.check.clear();
    copy.device = device_in(report, finding.device);
    copy.observed = printable_value(finding.observed);
    copy.limit = printable_value(finding.limit);
    copy.unit = printable(finding.unit, 20);
    copy.code = finding.outcome == Outcome::fail ? benchmark.code : std::string();
    copy.category = impact_category(copy.code);
  }
  std::ranges::stable_sort(findings, {}, [](const Finding& each) { return rank(each.outcome); });
  if (findings.size() > kMaxFindings) findings.resize(kMaxFindings);
  return findings;
}

// An `unknown` for each check that was not compared with a limit.
Findings missing_checks(const Report& report, const Benchmark& benchmark) {
  Findings missing;
  for (const auto& check : benchmark.checks) {
    auto why = fmt::format("muster-bench did not judge {}", check);
    const bool judged = std::ranges::any_of(report.findings, [&](const Finding& finding) {
      if (finding.check != check) return false;
      if (finding.outcome != Outcome::skip)
        return finding.outcome != Outcome::pass || has_limit(finding);
      why = printable(finding.message, kLongestText);
      return false;
    });
    if (!judged) missing.push_back(not_judged(why));
  }
  return missing;
}

// BANDWIDTH [REPEATS [SIZE]], with one rank for each GPU of this node, whatever job this is part
// of.
Result<Benchmark> plan_all_reduce(const CheckLine& line, std::size_t gpus) {
  TRY_ASSIGN(const auto bandwidth, parse_bandwidth(line.argument(0), "GB/s"));
  TRY_ASSIGN(const auto attempts, parse_attempts(line.argument(1)));
  Benchmark benchmark{
      .words = {"all_reduce", "--backend=nccl", "--launch=alone", fmt::format("--local={}", gpus),
                fmt::format("--min-busbw={} GB/s", bandwidth), "--format=json", "--verbose"},
      .attempts = attempts};
  if (const auto word = line.argument(2); !word.empty()) {
    TRY_ASSIGN(const auto size, parse_message_size(word));
    benchmark.words.push_back(fmt::format("--sizes={}", size));
    benchmark.words.push_back(fmt::format("--at={}", size));
  }
  return benchmark;
}

// The same without NCCL's paths within the node, so that all data passes the adapters.
Result<Benchmark> plan_loopback(const CheckLine& line, std::size_t gpus) {
  TRY_ASSIGN(auto benchmark, plan_all_reduce(line, gpus));
  benchmark.words.emplace_back("--require-transport=ib");
  benchmark.environment = {{"NCCL_P2P_DISABLE", "1"},
                           {"NCCL_SHM_DISABLE", "1"},
                           {"NCCL_NET_GDR_LEVEL", "5"},
                           {"NCCL_IB_PCI_RELAXED_ORDERING", "1"}};
  benchmark.topology_file = line.argument(3);
  if (!benchmark.topology_file.empty()) {
    benchmark.environment["NCCL_TOPO_FILE"] = benchmark.topology_file;
  }
  return benchmark;
}

// H2D_AND_D2H [P2P], in GB/s. Azure's script warns up to 5% above the limit, and copies between
// GPUs if there are several.
Result<Benchmark> plan_gpu_copy(const CheckLine& line, std::size_t gpus) {
  constexpr double kWarns = 1.05;
  constexpr std::string_view kUnit = "GB/s";
  TRY_ASSIGN(const auto host, parse_bandwidth(line.argument(0), kUnit));
  const bool has_peer = !line.argument(1).empty();
  const bool peers = has_peer && gpus > 1;
  auto benchmark = node_benchmark(peers ? "gpu.copy,gpu.p2p" : "gpu.copy", "NHC2020");
  add_limit(benchmark, {"host_copy", host, kWarns * host, kUnit});
  if (!has_peer) return benchmark;
  TRY_ASSIGN(const auto peer, parse_bandwidth(line.argument(1), kUnit));
  if (peers) add_limit(benchmark, {"peer_copy", peer, kWarns * peer, kUnit});
  return benchmark;
}

// [BANDWIDTH], in MB/s as STREAM prints it: copy, scale, add and triad each.
Result<Benchmark> plan_stream(const CheckLine& line, std::size_t /*gpus*/) {
  constexpr std::string_view kDefault = "580000";
  constexpr std::string_view kUnit = "MB/s";
  const auto word = line.argument(0);
  TRY_ASSIGN(const auto limit, parse_bandwidth(word.empty() ? kDefault : word, kUnit));
  auto benchmark = node_benchmark("host.stream", "NHC2001");
  add_limit(benchmark, {"stream", limit, limit, kUnit});
  return benchmark;
}

// BANDWIDTH [SIZE], in Gb/s and bytes: writes of each HCA to itself from host memory.
Result<Benchmark> plan_hca(const CheckLine& line, std::size_t /*gpus*/) {
  constexpr std::string_view kUnit = "Gb/s";
  constexpr std::string_view kDefault = "1048576";
  constexpr std::uint64_t kLargest = 64UL << 20U;
  TRY_ASSIGN(const auto limit, parse_bandwidth(line.argument(0), kUnit));
  const auto word = line.argument(1).empty() ? kDefault : line.argument(1);
  const auto size = parse_unsigned(word);
  if (!size || *size < sizeof(std::uint64_t) || *size > kLargest) {
    return unexpected_word(word, "a size of 8 bytes to 64 MiB");
  }
  auto benchmark = node_benchmark("ib.loopback", "NHC2003");
  add_limit(benchmark, {"hca_write", limit, limit, kUnit});
  benchmark.words.push_back(fmt::format("--set=bench.hca_write.size={} B", *size));
  return benchmark;
}

// The same in messages of 8 MiB from the memory of GPUs.
Result<Benchmark> plan_gpu_hca(const CheckLine& line, std::size_t gpus) {
  auto copy = line;
  copy.arguments = {std::string(line.argument(0)), "8388608"};
  TRY_ASSIGN(auto benchmark, plan_hca(copy, gpus));
  benchmark.words.emplace_back("--set=bench.hca_write.memory=gpu");
  return benchmark;
}

Row benchmark(std::string_view name, PlanBenchmark plan, bool of_gpus) {
  return {.name = name,
          .most = kAny,
          .of_gpus = of_gpus,
          .benchmark = plan,
          .skipped = "a benchmark, which runs with --active only"};
}

Row unmeasured(std::string_view name) {
  return {.name = name, .most = kAny, .skipped = "muster-bench has no such benchmark"};
}

}  // namespace

std::vector<Row> benchmark_rows() {
  return {
      benchmark("check_nccl_allreduce", plan_all_reduce, true),
      benchmark("check_nccl_allreduce_ib_loopback", plan_loopback, true),
      benchmark("check_gpu_bw", plan_gpu_copy, true),
      benchmark("check_ib_bw_gdr", plan_gpu_hca, false),
      benchmark("check_ib_bw_non_gdr", plan_hca, false),
      benchmark("check_cpu_stream", plan_stream, false),
      unmeasured("check_rccl_allreduce"),
      unmeasured("check_rocm_gpu_bw"),
  };
}

std::map<int, Result<Benchmark>> benchmarks_on(const Config& config, const Snapshot& snapshot) {
  const auto& nvml = snapshot.nvml;
  const auto gpus = nvml.ok() ? nvml->gpus.size() : 0;
  std::map<int, Result<Benchmark>> benchmarks;
  for (const auto& line : check_lines(config, snapshot.identity->hostname)) {
    const Row* row = row_of(line);
    if (row == nullptr || row->benchmark == nullptr) continue;
    auto& planned = benchmarks.emplace(line.number, row->benchmark(line, gpus)).first->second;
    // The first one ignores the topology file of its line, which Azure names by a variable.
    if (!line.unresolved.empty() && row->benchmark != plan_all_reduce) {
      planned = make_error(unknown_variable(line));
    }
    if (!row->of_gpus || gpus > 0) continue;
    const auto& why = nvml.ok() ? nvml->trouble : nvml.reason;
    planned = make_error("NVML lists no GPU{}{}", why.empty() ? "" : ": ", printable(why, 120));
  }
  return benchmarks;
}

Result<Report> parse_output(const BenchmarkOutput& output) {
  if (trim(output.out).empty()) {
    const auto lines = split_lines(output.err);
    const auto first = std::ranges::find_if(lines, [](auto line) { return !trim(line).empty(); });
    return make_error("muster-bench exited with status {} without a report{}{}", output.status,
                      first == lines.end() ? "" : ": ",
                      first == lines.end() ? "" : printable(trim(*first), kLongestText));
  }
  const auto report = parse_report(output.out);
  if (!report) {
    return make_error("muster-bench: invalid report: {}",
                      printable(report.error().message, kLongestText));
  }
  if (exit_status(*report) == output.status) return report;
  return make_error("muster-bench reported {} and exited with status {}",
                    to_string(report->verdict), output.status);
}

std::vector<Finding> findings_of(const BenchmarkOutput& output, const Benchmark& benchmark) {
  const auto report = parse_output(output);
  if (!report) return {not_judged(report.error().message)};
  auto findings = findings_in(*report, benchmark);
  auto missing = missing_checks(*report, benchmark);
  const bool undecided =
      findings.empty() && !missing.empty() && report->verdict == Verdict::unknown;
  if (!undecided && verdict_of(findings) != report->verdict) {
    return {not_judged(fmt::format("muster-bench reported {}, which its findings contradict",
                                   to_string(report->verdict)))};
  }
  std::ranges::move(missing, std::back_inserter(findings));
  return findings;
}

}  // namespace muster::nhc
