// SPDX-License-Identifier: Apache-2.0
#include "bench/run/reporter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/run/plan.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

std::vector<std::string> hosts_of(const std::vector<Member>& members) {
  std::vector<std::string> hosts;
  for (const auto& member : members) {
    if (std::ranges::find(hosts, member.host) == hosts.end()) hosts.push_back(member.host);
  }
  return hosts;
}

}  // namespace

Reporter::Reporter(const BenchCommand& command, const Console& console, Emergency& emergency)
    : command_(command), console_(console), emergency_(emergency), printer_(command_, console_) {
  record_.begin = Clock::now();
  record_.started = utc_now();
}

void Reporter::begin(Choice choice, std::string_view backend, std::string host,
                     const Variables& variables) {
  const auto value = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  record_.choice = std::move(choice);
  record_.backend = backend;
  record_.hosts = {std::move(host)};
  record_.algorithm = value("NCCL_ALGO");
  record_.algorithm_asked = !record_.algorithm.empty() || value("NCCL_NVLS_ENABLE") == "0";
}

void Reporter::set_hosts(std::vector<std::string> hosts, const std::vector<std::string>& remarks) {
  const auto held = emergency_.hold();
  record_.hosts = std::move(hosts);
  std::ranges::copy(remarks, std::back_inserter(record_.choice.evidence));
}

void Reporter::set_members(std::vector<Member> members, std::string library, bool gpus) {
  const auto held = emergency_.hold();
  std::ranges::sort(members, {}, &Member::rank);
  record_.library = std::move(library);
  record_.gpus = gpus;
  if (!members.empty()) record_.hosts = hosts_of(members);
  record_.members = std::move(members);
}

void Reporter::set_diagnosis(std::optional<std::vector<std::string>> diagnosis) {
  const auto held = emergency_.hold();
  record_.diagnosis = std::move(diagnosis);
}

void Reporter::add(TransportReport transport) {
  const auto held = emergency_.hold();
  if (command_.verbose) {
    for (const auto& line : transport.pairs) printer_.remark(line);
  }
  record_.ways = std::move(transport.pairs);
  record_.warnings = std::move(transport.warnings);
  record_.transport = std::move(transport.facts);
  if (!transport.algorithm.empty()) record_.algorithm = std::move(transport.algorithm);
}

void Reporter::begin_table(const BenchCommand& command, const std::vector<std::uint64_t>& sizes,
                           const std::vector<std::string>& evidence, const Settings& settings) {
  const auto held = emergency_.hold();
  if (command_.verbose) {
    for (const auto& line : evidence) printer_.remark(line);
    for (const auto& line : record_.choice.evidence) printer_.remark(line);
  }
  const auto& profile = record_.choice.profile.name;
  if (!settings.taken.empty()) {
    printer_.remark(fmt::format("set for {}: {}", profile, fmt::join(settings.taken, " ")));
  }
  for (const auto& each : settings.left_out) {
    printer_.remark(fmt::format("not set for {}: {}", profile, each));
  }
  printer_.say(table_header({.collective = command.collective,
                             .library = record_.library,
                             .min_bytes = std::ranges::min(sizes),
                             .max_bytes = std::ranges::max(sizes),
                             .factor = command.sizes.empty() ? command.factor : 0,
                             .pace = pace_of(command),
                             .check = true,
                             .members = record_.members}));
}

void Reporter::add(Row row) {
  const auto held = emergency_.hold();
  printer_.say(table_row(row, command_.cpu_time));
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

// A table of each, and one of all.
void Reporter::print_parts() {
  for (const auto& [name, ranks, rows] : record_.parts) {
    std::vector<unsigned> numbers(ranks.begin(), ranks.end());
    printer_.say(fmt::format("# {}: ranks {}\n", name, to_cpu_list(numbers)));
    for (const auto& row : rows) printer_.say(table_row(row, command_.cpu_time));
  }
  if (!record_.parts.empty()) printer_.say(split_table(record_.parts, own_limit_of(command_)));
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
  printer_.say(table_footer(totals_));
  totals_ = {};
  bench::end_collective(record_, command);
}

int Reporter::conclude() {
  const auto held = emergency_.hold();
  print_parts();
  if (command_.collectives.empty()) printer_.say(table_footer(totals_));
  print_warnings();
  const auto report = report_of(record_, command_);
  emergency_.mark_reported();
  return print(report) ? exit_status(report.verdict) : kExitUndecided;
}

void Reporter::report(const Trouble& trouble, std::vector<std::string> warnings) {
  if (!record_.rows.empty()) printer_.say(table_footer(totals_));
  if (!warnings.empty()) record_.warnings = std::move(warnings);
  print_warnings();
  (void)print(report_of(record_, trouble));
}

// Behind the table and what sums it up: scripts look for words that a warning may have as well.
void Reporter::print_warnings() {
  constexpr std::size_t kMost = 8;
  const auto& all = record_.warnings;
  for (std::size_t at = 0; at < std::min(all.size(), kMost); ++at) {
    printer_.remark(fmt::format("NCCL warns: {}", all[at]));
  }
  if (all.size() > kMost) {
    printer_.remark(
        fmt::format("NCCL warns of {} more: --format json has them", all.size() - kMost));
  }
}

// What cannot be written is said where that can be; a reader that has gone needs no telling.
bool Reporter::print(const Report& report) {
  const auto printed = printer_.finish(report);
  if (!printed && !printed.error().message.empty()) {
    console_.note(fmt::format("muster-bench: {}", printed.error().message));
  }
  return printed.has_value();
}

}  // namespace muster::bench
