// SPDX-License-Identifier: Apache-2.0
#include "bench/run/reporting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "bench/run/node_settings.hpp"
#include "bench/run/operations.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/command/version.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/bench_checks.hpp"
#include "lib/report/summary.hpp"

namespace muster::bench {
namespace {

void add_findings(Report& report, std::vector<Finding> findings) {
  std::ranges::move(findings, std::back_inserter(report.findings));
}

// The rows of the type and reduction that are judged.
std::vector<Row> judged_rows(const RunRecord& record, const BenchCommand& command) {
  auto rows = record.rows;
  std::erase_if(rows, [&](const Row& row) {
    return row.operation.type != command.type || row.operation.reduction != command.reduction;
  });
  return rows;
}

OwnLimit own_limit_of(const BenchCommand& command) {
  return {.min_busbw = command.min_busbw, .at = command.at, .acceptance = command.acceptance};
}

bool wrong_anywhere(const std::vector<Row>& rows) {
  return std::ranges::any_of(rows, [](const Row& row) {
    return (row.out_of_place && !row.out_of_place->wrong.empty()) ||
           (row.in_place && !row.in_place->wrong.empty());
  });
}

RunFacts facts_of(const RunRecord& record, const PartResult& part) {
  auto facts = bench::facts_of(record);
  std::set<std::string> hosts;
  for (const int rank : part.ranks) {
    const auto place = static_cast<std::size_t>(rank);
    if (place < record.members.size()) hosts.insert(record.members[place].host);
  }
  facts.ranks = static_cast<int>(part.ranks.size());
  facts.nodes = static_cast<int>(std::max<std::size_t>(1, hosts.size()));
  facts.node = hosts.size() == 1 ? *hosts.begin() : std::string();
  return facts;
}

// Compares the parts with each other, and each part that is a whole node with the limit of one.
void judge_parts(Report& report, const RunRecord& record, const BenchCommand& command) {
  bool any_wrong = false;
  for (const auto& part : record.parts) {
    if (!wrong_anywhere(part.rows)) continue;
    any_wrong = true;
    add_findings(report, judge_data(part.rows, record.members));
  }
  if (!any_wrong) add_findings(report, judge_data(record.parts.front().rows, record.members));
  const auto own = own_limit_of(command);
  std::set<std::string> failed;
  std::size_t judged = 0;
  for (const auto& part : record.parts) {
    if (own.min_busbw || command.split->by != Split::By::node) break;
    auto finding = judge(part.rows, record.choice.profile, facts_of(record, part));
    if (finding.outcome == Outcome::unknown) continue;
    ++judged;
    if (finding.outcome == Outcome::fail) failed.insert(finding.device);
    report.findings.push_back(std::move(finding));
  }
  // A part that misses its limit is not reported as an outlier as well. If the limit has judged all
  // parts, they need no comparison.
  for (auto& each : judge_split(record.parts, own)) {
    const bool decided = each.outcome == Outcome::unknown && judged == record.parts.size();
    if (!decided && !failed.contains(each.device)) report.findings.push_back(std::move(each));
  }
}

void add_measurements(Report& report, const RunRecord& record) {
  const auto add = [&](const std::vector<Row>& rows, const RunFacts& facts, const auto&... part) {
    for (const auto& row : rows) {
      std::ranges::move(measurements_of(row, facts, part...),
                        std::back_inserter(report.measurements));
    }
  };
  for (const auto& part : record.parts) add(part.rows, facts_of(record, part), part.name);
  add(record.rows, facts_of(record));
}

// A finding that several collectives share is added once.
void judge_rows(Report& report, const RunRecord& record, const BenchCommand& command) {
  const auto facts = facts_of(record);
  const auto& profile = record.choice.profile;
  auto findings = judge_data(record.rows, record.members);
  const auto required =
      required_transports(command.require_transport, profile, facts.gpus, facts.nodes);
  findings.push_back(judge_transport(required, record.transport.facts));
  findings.push_back(judge(judged_rows(record, command), profile, facts, own_limit_of(command)));
  for (auto& each : findings) {
    if (std::ranges::find(report.findings, each) == report.findings.end()) {
      report.findings.push_back(std::move(each));
    }
  }
}

// With `all`, a collective without a limit is skipped, unless no collective has a limit.
void leave_out_unlimited(std::vector<Finding>& findings) {
  const auto is_judged = [](const Finding& each) {
    return std::ranges::find(kBandwidthChecks, each.check) != kBandwidthChecks.end() &&
           each.outcome != Outcome::unknown && each.outcome != Outcome::skip;
  };
  if (std::ranges::none_of(findings, is_judged)) return;
  for (auto& each : findings) {
    if (each.check == "bench.min_busbw" && each.outcome == Outcome::unknown) {
      each.outcome = Outcome::skip;
    }
  }
}

// Whether neither the current collective nor its parts have a limit.
bool is_unlimited(const RunRecord& record, const BenchCommand& command) {
  const auto own = own_limit_of(command);
  if (record.parts.empty()) {
    return bench::is_unlimited(judged_rows(record, command), record.choice.profile,
                               facts_of(record), own);
  }
  return std::ranges::all_of(record.parts, [&](const PartResult& part) {
    return bench::is_unlimited(part.rows, record.choice.profile, facts_of(record, part), own);
  });
}

// A report of this end, with the results of the collectives before it.
Report report_of_end(const RunRecord& record, Finding completion) {
  auto report = begin_report(record);
  report.findings.push_back(std::move(completion));
  if (record.diagnosis) report.findings.push_back(judge_diagnosis(*record.diagnosis));
  add_findings(report, record.before.findings);
  report.measurements = record.before.measurements;
  report.warnings = record.transport.warnings;
  return report;
}

std::vector<std::string> hosts_of(const std::vector<Member>& members) {
  std::vector<std::string> hosts;
  for (const auto& member : members) {
    if (std::ranges::find(hosts, member.host) == hosts.end()) hosts.push_back(member.host);
  }
  return hosts;
}

// Programs that read the table skip comments.
std::string commented(std::string_view text) {
  std::string lines;
  for (const auto line : split_lines(text)) {
    lines += line.empty() ? "#\n" : fmt::format("# {}\n", line);
  }
  return lines;
}

// The message of an error is empty if the reader of a pipe is gone.
template <class T>
Result<void> written_by(std::string_view option, const Result<T>& result) {
  if (result) return {};
  const auto& why = result.error().message;
  return make_error(why.empty() ? why : fmt::format("{}: {}", option, why));
}

}  // namespace

Result<void> can_write(const Console& console, std::string_view option, const std::string& file) {
  return written_by(option, Destination::open(console, file));
}

Result<void> write_for(const Console& console, std::string_view option, const std::string& file,
                       std::string_view text) {
  return written_by(option, write_answer(console, file, text));
}

Result<void> write_report(const Console& console, const std::string& file, std::string_view text) {
  if (descriptor_named(file) == STDOUT_FILENO) return console.out(text);
  auto written = write_for(console, "--output", file, text);
  if (!written) (void)console.out(text);
  return written;
}

void sign(Report& report, std::string benchmark, const Choice& choice, Clock::time_point begin) {
  report.benchmark = std::move(benchmark);
  report.profile = choice.profile.name;
  report.profile_evidence = choice.evidence;
  report.context = "manual";
  report.duration_ms = elapsed_ms(begin);
  report.muster = kVersion;
}

Report begin_report(const RunRecord& record) {
  Report report;
  report.nodes = record.hosts;
  if (record.hosts.size() == 1) report.node = record.hosts.front();
  report.started = record.started;
  sign(report, record.benchmark, record.choice, record.begin);
  return report;
}

RunFacts facts_of(const RunRecord& record) {
  auto facts = record.facts;
  facts.nodes = static_cast<int>(record.hosts.size());
  facts.ranks = static_cast<int>(record.members.size());
  if (!record.hosts.empty()) facts.node = record.hosts.front();
  facts.over = record.transport.facts.over;
  return facts;
}

int exit_status_of(const Trouble& trouble) {
  return outcome_of(trouble) == Outcome::unknown ? kExitUndecided : kExitUnhealthy;
}

Report report_of(const RunRecord& record, const BenchCommand& command) {
  auto report = report_of_end(record, completed(facts_of(record).ranks));
  if (command.whichever) leave_out_unlimited(report.findings);
  report.ways = record.transport.pairs;
  conclude(report);
  // A run without any limit, on nodes without GPUs and HCAs, is a trial.
  const auto& facts = record.facts;
  if (facts.bare && !facts.gpus && !record.limited) conclude_trial(report);
  return report;
}

Report report_of(const RunRecord& record, const Trouble& trouble) {
  auto report = report_of_end(record, judge_completion(trouble, record.members));
  if (!record.rows.empty()) add_findings(report, judge_data(record.rows, record.members));
  add_measurements(report, record);
  conclude(report);
  return report;
}

TableHead table_head(const RunRecord& record, const BenchCommand& command,
                     const std::vector<std::uint64_t>& sizes) {
  return {.collective = command.collective,
          .library = record.facts.library,
          .min_bytes = command.min.value_or(std::ranges::min(sizes)),
          .max_bytes = command.max.value_or(std::ranges::max(sizes)),
          .factor = command.sizes.empty() ? factor_of(command) : 0,
          .step = command.step.value_or(0),
          .pace = pace_of(command),
          .members = record.members};
}

void end_collective(RunRecord& record, const BenchCommand& command) {
  record.limited = record.limited || !is_unlimited(record, command);
  (command.split ? judge_parts : judge_rows)(record.before, record, command);
  add_measurements(record.before, record);
  record.rows.clear();
  record.parts.clear();
  if (!record.facts.algorithm_is_set) record.facts.algorithm.clear();
}

void Printer::print(std::string_view lines) {
  if (command_.format != Format::text || command_.quiet) return;
  clear_progress();
  if (to_file()) {
    kept_ += lines;
  } else if (printed_) {
    printed_ = console_.out(lines);
  }
}

void Printer::progress(std::string_view what) {
  if (!shows_progress() || !printed_) return;
  has_progress_ = true;
  printed_ = console_.out(fmt::format("\r\033[K# {}", printable(what, console_.width - 3)));
}

bool Printer::shows_progress() const {
  return console_.width > 0 && command_.format == Format::text && !command_.quiet;
}

void Printer::clear_progress() {
  if (std::exchange(has_progress_, false) && printed_) printed_ = console_.out("\r\033[K");
}

void Printer::remark(std::string_view line) { print(commented(line)); }

Result<void> Printer::finish(const Report& report) {
  clear_progress();
  if (!printed_) return printed_;
  auto text = row_of(command_.format)
                  .render(report, {.verbose = command_.verbose,
                                   .quiet = command_.quiet,
                                   .every_iteration = command_.each_iteration,
                                   .always = kBandwidthChecks});
  if (command_.format == Format::text) text = commented(text);
  const auto written = write_report(console_, command_.output, kept_ + text);
  // The last line, since a launcher then says that the job was aborted.
  if (const auto undecided = why_undecided_at_exit(report); !undecided.empty() && written) {
    const bool is_table = command_.format == Format::text && !to_file();
    if (is_table) return console_.out(commented(undecided));
    console_.note(fmt::format("muster-bench: {}", undecided));
  }
  return written;
}

Result<void> Printer::can_finish() const {
  return can_write(console_, "--output", command_.output);
}

Reporter::Reporter(const BenchCommand& command, const Console& console, Emergency& emergency)
    : command_(command), console_(console), emergency_(emergency), printer_(command_, console_) {
  record_.benchmark =
      command.collectives.size() > 1 ? "all" : std::string(to_string(command.collective));
  record_.begin = Clock::now();
  record_.started = utc_now();
}

void Reporter::begin(Choice choice, std::string_view backend, std::string host,
                     const Variables& variables) {
  record_.facts.bare = choice.bare && backend != "sim";
  record_.choice = std::move(choice);
  record_.facts.backend = backend;
  record_.hosts = {std::move(host)};
  record_.facts.limited_by = limiting_setting(record_.choice.profile, variables);
  record_.facts.algorithm = muster::value_of(variables, "NCCL_ALGO");
  record_.facts.algorithm_is_set =
      !record_.facts.algorithm.empty() || muster::value_of(variables, "NCCL_NVLS_ENABLE") == "0";
}

void Reporter::set_hosts(std::vector<std::string> hosts, bool bare, bool one_domain,
                         const std::vector<std::string>& remarks) {
  const auto held = emergency_.hold();
  record_.facts.bare = bare;
  record_.facts.one_domain = one_domain;
  record_.hosts = std::move(hosts);
  std::ranges::copy(remarks, std::back_inserter(record_.choice.evidence));
}

void Reporter::set_backend(const Backend& backend, std::vector<Member> members, bool gpus) {
  const auto held = emergency_.hold();
  record_.diagnosis = backend.diagnosis();
  record_.facts.library = backend.library();
  record_.facts.gpus = gpus;
  if (!members.empty()) record_.hosts = hosts_of(members);
  record_.members = std::move(members);
}

void Reporter::add(TransportReport transport) {
  const auto held = emergency_.hold();
  if (command_.verbose) {
    for (const auto& line : transport.pairs) printer_.remark(line);
  }
  if (!transport.algorithm.empty()) record_.facts.algorithm = transport.algorithm;
  record_.transport = std::move(transport);
}

void Reporter::begin_table(const BenchCommand& command, const std::vector<std::uint64_t>& sizes,
                           const std::vector<std::string>& evidence, const Settings& settings) {
  const auto held = emergency_.hold();
  if (command_.verbose) {
    for (const auto& line : evidence) printer_.remark(line);
    for (const auto& line : record_.choice.evidence) printer_.remark(line);
  }
  const auto& profile = record_.choice.profile.name;
  if (!settings.applied.empty()) {
    printer_.remark(fmt::format("set for {}: {}", profile, fmt::join(settings.applied, " ")));
  }
  for (const auto& each : settings.left_out) {
    printer_.remark(fmt::format("not set for {}: {}", profile, each));
  }
  printer_.print(table_header(table_head(record_, command, sizes)));
}

void Reporter::add(Row row) {
  const auto held = emergency_.hold();
  printer_.print(table_row(row, command_.cpu_time));
  totals_.add(row);
  record_.rows.push_back(std::move(row));
}

void Reporter::begin_parts(const std::vector<RankPart>& parts) {
  const auto held = emergency_.hold();
  for (const auto& [name, ranks] : parts) record_.parts.push_back({name, ranks, {}});
}

void Reporter::add_parts(std::vector<Row> rows) {
  const auto held = emergency_.hold();
  for (std::size_t part = 0; part < rows.size(); ++part) {
    totals_.add(rows[part]);
    record_.parts.at(part).rows.push_back(std::move(rows[part]));
  }
}

// Prints a table of each part, and one that compares them.
void Reporter::print_parts() {
  for (const auto& [name, ranks, rows] : record_.parts) {
    const std::vector<unsigned> numbers(ranks.begin(), ranks.end());
    printer_.print(fmt::format("# {}: ranks {}\n", name, to_cpu_list(numbers)));
    for (const auto& row : rows) printer_.print(table_row(row, command_.cpu_time));
  }
  if (!record_.parts.empty()) printer_.print(split_table(record_.parts, own_limit_of(command_)));
}

void Reporter::progress(std::string_view what) {
  const auto held = emergency_.hold();
  printer_.progress(what);
}

void Reporter::remark(std::string_view line) {
  const auto held = emergency_.hold();
  printer_.remark(line);
}

std::optional<Operation> Reporter::to_repeat(const BenchCommand& command) const {
  return bench::to_repeat(judged_rows(record_, command), record_.choice.profile, facts_of(record_),
                          own_limit_of(command));
}

void Reporter::end_collective(const BenchCommand& command) {
  const auto held = emergency_.hold();
  print_parts();
  printer_.print(table_footer(totals_));
  totals_ = {};
  bench::end_collective(record_, command);
}

int Reporter::conclude() {
  const auto held = emergency_.hold();
  print_warnings();
  const auto report = report_of(record_, command_);
  emergency_.mark_reported();
  return finish(report) ? exit_status(report) : kExitUndecided;
}

void Reporter::report(const Trouble& trouble, std::vector<std::string> warnings) {
  if (!record_.rows.empty()) printer_.print(table_footer(totals_));
  if (!warnings.empty()) record_.transport.warnings = std::move(warnings);
  print_warnings();
  (void)finish(report_of(record_, trouble));
}

// Printed after the table and its footer, since scripts search these for words that a warning may
// contain.
void Reporter::print_warnings() {
  constexpr std::size_t kMax = 8;
  const auto& all = record_.transport.warnings;
  for (std::size_t at = 0; at < std::min(all.size(), kMax); ++at) {
    printer_.remark(fmt::format("NCCL warns: {}", all[at]));
  }
  if (all.size() > kMax) {
    printer_.remark(
        fmt::format("NCCL warns of {} more: --format json has them", all.size() - kMax));
  }
}

void Reporter::note_verdict(const Report& report) {
  constexpr std::size_t kLongest = 300;
  verdict_line_ = one_line(report, kLongest);
}

bool Reporter::finish(const Report& report) {
  note_verdict(report);
  const auto finished = printer_.finish(report);
  // The message is empty if the reader of the output is gone.
  if (!finished && !finished.error().message.empty()) {
    console_.note(fmt::format("muster-bench: {}", finished.error().message));
  }
  return finished.has_value();
}

}  // namespace muster::bench
