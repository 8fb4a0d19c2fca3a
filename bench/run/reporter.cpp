// SPDX-License-Identifier: Apache-2.0
#include "bench/run/reporter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/run/plan.hpp"
#include "lib/base/clock.hpp"

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

Account::Account(const BenchCommand& command, const Console& console, Emergency& emergency)
    : command_(command), console_(console), emergency_(emergency), printer_(command_, console_) {
  known_.begin = Clock::now();
  known_.started = utc_now();
}

void Account::begin(Choice choice,
                    std::string_view backend,
                    std::string host,
                    const Variables& variables) {
  const auto value = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  known_.choice = std::move(choice);
  known_.backend = backend;
  known_.hosts = {std::move(host)};
  known_.algorithm = value("NCCL_ALGO");
  known_.algorithm_asked = !known_.algorithm.empty() || value("NCCL_NVLS_ENABLE") == "0";
}

void Account::line_up(std::vector<std::string> hosts, const std::vector<std::string>& remarks) {
  const auto held = emergency_.hold();
  known_.hosts = std::move(hosts);
  std::ranges::copy(remarks, std::back_inserter(known_.choice.evidence));
}

void Account::enrol(std::vector<Member> members, std::string library, bool gpus) {
  const auto held = emergency_.hold();
  std::ranges::sort(members, {}, &Member::rank);
  known_.library = std::move(library);
  known_.gpus = gpus;
  if (!members.empty()) known_.hosts = hosts_of(members);
  known_.members = std::move(members);
}

void Account::add(TransportAccount transport) {
  const auto held = emergency_.hold();
  if (command_.verbose) {
    for (const auto& line : transport.pairs) printer_.remark(line);
  }
  known_.ways = std::move(transport.pairs);
  known_.warnings = std::move(transport.warnings);
  known_.transport = std::move(transport.facts);
  if (!transport.algorithm.empty()) known_.algorithm = std::move(transport.algorithm);
}

void Account::begin_table(const std::vector<std::uint64_t>& sizes,
                          const std::vector<std::string>& evidence,
                          const Settings& settings) {
  const auto held = emergency_.hold();
  if (command_.verbose) {
    for (const auto& line : evidence) printer_.remark(line);
    for (const auto& line : known_.choice.evidence) printer_.remark(line);
  }
  const auto& profile = known_.choice.profile.name;
  if (!settings.taken.empty()) {
    printer_.remark(fmt::format("set for {}: {}", profile, fmt::join(settings.taken, " ")));
  }
  for (const auto& each : settings.left_out) {
    printer_.remark(fmt::format("not set for {}: {}", profile, each));
  }
  printer_.say(table_header({.collective = command_.collective,
                             .library = known_.library,
                             .min_bytes = std::ranges::min(sizes),
                             .max_bytes = std::ranges::max(sizes),
                             .factor = command_.sizes.empty() ? command_.factor : 0,
                             .pace = pace_of(command_),
                             .check = true,
                             .members = known_.members}));
}

void Account::add(Row row) {
  const auto held = emergency_.hold();
  printer_.say(table_row(row));
  totals_.add(row);
  known_.rows.push_back(std::move(row));
}

void Account::remark(std::string_view line) {
  const auto held = emergency_.hold();
  printer_.remark(line);
}

std::optional<Operation> Account::to_repeat() const {
  return bench::to_repeat(
      known_.rows, known_.choice.profile, facts_of(known_), demand_of(command_));
}

int Account::conclude() {
  const auto held = emergency_.hold();
  printer_.say(table_footer(totals_));
  tell_warnings();
  const auto report = report_of(known_, command_);
  emergency_.mark_reported();
  return print(report) ? exit_status(report.verdict) : kExitUndecided;
}

void Account::tell(const Trouble& trouble, std::vector<std::string> warnings) {
  if (!known_.rows.empty()) printer_.say(table_footer(totals_));
  if (!warnings.empty()) known_.warnings = std::move(warnings);
  tell_warnings();
  (void)print(report_of(known_, trouble));
}

// Behind the table and what sums it up: scripts look for words that a warning may have as well.
void Account::tell_warnings() {
  constexpr std::size_t kMost = 8;
  const auto& all = known_.warnings;
  for (std::size_t at = 0; at < std::min(all.size(), kMost); ++at) {
    printer_.remark(fmt::format("NCCL warns: {}", all[at]));
  }
  if (all.size() > kMost) {
    printer_.remark(
        fmt::format("NCCL warns of {} more: --format json has them", all.size() - kMost));
  }
}

// What cannot be written is said where that can be; a reader that has gone needs no telling.
bool Account::print(const Report& report) {
  const auto printed = printer_.finish(report);
  if (!printed && !printed.error().message.empty()) {
    console_.note(fmt::format("muster-bench: {}", printed.error().message));
  }
  return printed.has_value();
}

}  // namespace muster::bench
