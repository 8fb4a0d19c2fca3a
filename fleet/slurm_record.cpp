// SPDX-License-Identifier: Apache-2.0
#include "fleet/slurm_record.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "fleet/store.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::fleet {
namespace {

// Splits a line into `count` fields; the last one may contain separators.
Result<std::vector<std::string_view>> fields_of(std::string_view line, std::size_t count) {
  std::vector<std::string_view> fields;
  auto rest = line;
  while (fields.size() + 1 < count) {
    const auto end = rest.find('|');
    if (end == std::string_view::npos) {
      return make_error(fmt::format("expected {} fields, got \"{}\"", count, printable(line, 80)));
    }
    fields.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  fields.push_back(rest);
  return fields;
}

// Empty for "Unknown" and "None".
std::optional<std::int64_t> slurm_time(std::string_view text) {
  const auto time = parse_unsigned(text);
  if (!time || *time == 0) return std::nullopt;
  return static_cast<std::int64_t>(*time);
}

}  // namespace

Result<std::vector<SlurmOutage>> parse_outages(std::string_view text) {
  std::vector<SlurmOutage> outages;
  for (const auto line : split_lines(text)) {
    if (trim(line).empty()) continue;
    TRY_ASSIGN(const auto fields, fields_of(line, 6));
    const auto started = slurm_time(fields[1]);
    if (fields[0].empty() || !started) continue;  // of the whole cluster
    outages.push_back({.node = printable(fields[0]),
                       .started = *started,
                       .ended = slurm_time(fields[2]),
                       .state = printable(fields[3]),
                       .who = printable(fields[4]),
                       .reason = printable(fields[5])});
  }
  return outages;
}

Result<std::vector<SlurmJob>> parse_jobs(std::string_view text) {
  std::vector<SlurmJob> jobs;
  for (const auto line : split_lines(text)) {
    if (trim(line).empty()) continue;
    TRY_ASSIGN(const auto fields, fields_of(line, 6));
    const auto started = slurm_time(fields[1]);
    auto nodes = expand_hostlist(fields[5]);
    if (!started || !nodes) continue;  // it never ran: "None assigned"
    jobs.push_back({.job = printable(fields[0]),
                    .nodes = *std::move(nodes),
                    .started = *started,
                    .ended = slurm_time(fields[2]),
                    .state = printable(fields[3]),
                    .exit_code = printable(fields[4])});
  }
  return jobs;
}

Result<SlurmCounts> import_slurm(Database& database, Importer& importer, std::int64_t since,
                                 const CallSlurm& call) {
  auto from = utc(since);
  from.pop_back();  // Slurm reads the time without its zone
  TRY_ASSIGN(const auto events,
             call("sacctmgr", {"-n", "-P", "show", "event", fmt::format("start={}", from),
                               fmt::format("format={}", kOutageFormat)}));
  TRY_ASSIGN(const auto outages, parse_outages(events));
  TRY_ASSIGN(const auto listed,
             call("sacct", {"-n", "-P", "-X", "-a", fmt::format("--starttime={}", from),
                            fmt::format("--format={}", kJobFormat)}));
  TRY_ASSIGN(const auto jobs, parse_jobs(listed));
  TRY(in_transaction(database, [&]() -> Result<void> {
    for (const auto& each : outages) {
      TRY_ASSIGN(const auto node, importer.node_id(each.node));
      TRY(database.run("INSERT OR REPLACE INTO outage VALUES(?, ?, ?, ?, ?, ?)", node, each.started,
                       each.ended, each.state, each.reason, each.who));
    }
    for (const auto& each : jobs) {
      for (const auto& name : each.nodes) {
        TRY_ASSIGN(const auto node, importer.node_id(name));
        TRY(database.run("INSERT OR REPLACE INTO job VALUES(?, ?, ?, ?, ?, ?)", node, each.started,
                         each.job, each.ended, each.state, each.exit_code));
      }
    }
    return {};
  }));
  return SlurmCounts{.outages = outages.size(), .jobs = jobs.size()};
}

}  // namespace muster::fleet
