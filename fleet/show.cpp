// SPDX-License-Identifier: Apache-2.0
// `muster fleet show`: the state of the fleet on one screen.
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "fleet/ask.hpp"
#include "fleet/fleet_command.hpp"
#include "fleet/offenders.hpp"
#include "fleet/page.hpp"
#include "fleet/store.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::app {
namespace {

using fleet::Database;
using fleet::Row;

constexpr std::int64_t kDay_s = 86'400;
constexpr std::int64_t kSilent_days = 2;
constexpr std::int64_t kRecent_days = 30;

struct CauseLine {
  MUSTER_DESCRIBED(CauseLine);
  MUSTER_FIELD(std::string, cause, "check");
  MUSTER_FIELD(std::int64_t, incidents, "") = 0;
  MUSTER_FIELD(std::int64_t, nodes, "") = 0;
  MUSTER_FIELD(std::int64_t, open, "") = 0;
  MUSTER_FIELD(double, hours, "node-hours lost") = 0;
};

struct PartsLine {
  MUSTER_DESCRIBED(PartsLine);
  MUSTER_FIELD(std::string, kind, "");
  MUSTER_FIELD(std::string, model, "");
  MUSTER_FIELD(std::int64_t, parts, "") = 0;
};

struct RefusedLine {
  MUSTER_DESCRIBED(RefusedLine);
  MUSTER_FIELD(std::string, name, "");
  MUSTER_FIELD(std::string, why, "");
};

struct FleetState {
  static constexpr std::string_view kSchema = "muster.fleet_show/1";
  MUSTER_DESCRIBED(FleetState);
  MUSTER_FIELD(std::int64_t, nodes, "") = 0;
  MUSTER_FIELD(std::int64_t, reports, "") = 0;
  MUSTER_FIELD(std::string, first, "");
  MUSTER_FIELD(std::string, last, "");
  MUSTER_FIELD(std::int64_t, unfinished, "nodes whose import was interrupted") = 0;
  MUSTER_FIELD(ByName<std::int64_t>, verdicts, "nodes by verdict of their newest muster check");
  MUSTER_FIELD(std::vector<std::string>, unhealthy, "");
  MUSTER_FIELD(std::vector<std::string>, silent, "nodes without a report for two days");
  MUSTER_FIELD(std::vector<CauseLine>, causes, "causes of incidents in the last 30 days");
  MUSTER_FIELD(std::vector<fleet::OffenderRow>, offenders, "repeat offenders of 180 days");
  MUSTER_FIELD(std::vector<PartsLine>, parts, "parts ever seen");
  MUSTER_FIELD(std::int64_t, replaced, "parts replaced in the last 30 days") = 0;
  MUSTER_FIELD(std::int64_t, refused, "documents") = 0;
  MUSTER_FIELD(std::vector<RefusedLine>, refused_first, "at most 5 of them");
};

Result<void> read_nodes(Database& database, const std::string& cluster, std::int64_t newest,
                        FleetState& state) {
  std::int64_t oldest = 0;
  std::vector<std::pair<std::string, std::int64_t>> last;
  TRY(database.each(
      "SELECT name, first, last, reports, verdict, touched <> 0 FROM node WHERE ?1 IN ('', "
      "cluster)",
      [&](const Row& row) {
        ++state.nodes;
        state.unfinished += row.whole(5);
        if (row.is_null(2)) return;
        const auto name = std::string(row.text(0));
        oldest = oldest == 0 ? row.whole(1) : std::min(oldest, row.whole(1));
        last.emplace_back(name, row.whole(2));
        state.reports += row.whole(3);
        const auto verdict = std::string(row.text(4));
        ++state.verdicts[verdict.empty() ? "unknown" : verdict];
        if (verdict == "unhealthy") state.unhealthy.push_back(name);
      },
      cluster));
  for (auto& [name, at] : last) {
    if (newest - at > kSilent_days * kDay_s) state.silent.push_back(std::move(name));
  }
  if (newest > 0) {
    state.first = utc(oldest);
    state.last = utc(newest);
  }
  return {};
}

Result<void> read_incidents(Database& database, const std::string& cluster, std::int64_t newest,
                            FleetState& state) {
  constexpr std::string_view kCauses =
      "SELECT cause, count(*), count(DISTINCT node), sum(ended IS NULL), sum(hours) "
      "FROM incident JOIN node ON node.id = node "
      "WHERE ?1 IN ('', cluster) AND (ended IS NULL OR ended > ?2) "
      "GROUP BY cause ORDER BY 5 DESC, 2 DESC, 1";
  return database.each(
      kCauses,
      [&](const Row& row) {
        state.causes.push_back({.cause = std::string(row.text(0)),
                                .incidents = row.whole(1),
                                .nodes = row.whole(2),
                                .open = row.whole(3),
                                .hours = row.number(4)});
      },
      cluster, newest - kRecent_days * kDay_s);
}

Result<void> read_parts(Database& database, const std::string& cluster, std::int64_t newest,
                        FleetState& state) {
  TRY(database.each(
      "SELECT kind, model, count(*) FROM part WHERE ?1 = '' OR id IN "
      "(SELECT part FROM seat JOIN node ON node.id = node WHERE cluster = ?1) "
      "GROUP BY kind, model ORDER BY 3 DESC, 1, 2",
      [&](const Row& row) {
        state.parts.push_back({.kind = std::string(row.text(0)),
                               .model = std::string(row.text(1)),
                               .parts = row.whole(2)});
      },
      cluster));
  TRY_ASSIGN(const auto replaced,
             database.whole("SELECT count(*) FROM seat JOIN node ON node.id = node "
                            "WHERE ended > ?2 AND ?1 IN ('', cluster)",
                            cluster, newest - kRecent_days * kDay_s));
  state.replaced = replaced.value_or(0);
  return {};
}

Result<void> read_refused(Database& database, FleetState& state) {
  TRY_ASSIGN(const auto refused, database.whole("SELECT count(*) FROM refused"));
  state.refused = refused.value_or(0);
  return database.each(
      "SELECT name, why FROM refused ORDER BY name, sum LIMIT 5", [&](const Row& row) {
        state.refused_first.push_back({std::string(row.text(0)), std::string(row.text(1))});
      });
}

Result<FleetState> read_state(Database& database, const std::string& cluster) {
  FleetState state;
  TRY_ASSIGN(const auto nodes, fleet::read_nodes(database, cluster));
  const auto newest = fleet::newest_of(nodes);
  // Counts and sorts hundreds of thousands of parts.
  auto parts = std::async(std::launch::async, [&]() -> Result<void> {
    TRY_ASSIGN(auto own, database.open_again());
    return read_parts(own, cluster, newest, state);
  });
  TRY(read_nodes(database, cluster, newest, state));
  TRY(read_incidents(database, cluster, newest, state));
  TRY_ASSIGN(state.offenders, fleet::ask_offenders(database, nodes, newest));
  TRY(read_refused(database, state));
  TRY(parts.get());
  return state;
}

std::string nodes_line(std::string_view label, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  constexpr std::size_t kWidth = 80;
  return fmt::format("{:<12}{}: {}\n", label, counted(names.size(), "node"),
                     printable(fold_hostlist(names), kWidth));
}

std::string to_text(const FleetState& state) {
  constexpr std::size_t kMost = 8;
  auto text = fmt::format("{:<12}{}, {}", "fleet", counted(std::uint64_t(state.nodes), "node"),
                          counted(std::uint64_t(state.reports), "report"));
  if (!state.first.empty())
    text += fmt::format(", from {} to {}", fleet::to_minutes(state.first),
                        fleet::to_minutes(state.last));
  text += '\n';
  if (state.unfinished > 0) {
    text += fmt::format("{:<12}{}: run muster fleet add again\n", "unfinished",
                        counted(std::uint64_t(state.unfinished), "node"));
  }
  std::string verdicts;
  for (const auto& [verdict, nodes] : state.verdicts) {
    verdicts += fmt::format("{}{} {}", verdicts.empty() ? "" : ", ", nodes, verdict);
  }
  if (!verdicts.empty()) text += fmt::format("{:<12}{}\n", "now", verdicts);
  text += nodes_line("unhealthy", state.unhealthy);
  text += nodes_line("silent", state.silent);
  if (!state.causes.empty()) {
    text += fmt::format("\nincidents of the last {} days\n{:<32}{:>10}{:>8}{:>8}{:>12}\n",
                        kRecent_days, "", "incidents", "nodes", "open", "node-hours");
  }
  for (std::size_t i = 0; i < std::min(kMost, state.causes.size()); ++i) {
    const auto& each = state.causes[i];
    text += fmt::format("  {:<30}{:>10}{:>8}{:>8}{:>12.1f}\n", printable(each.cause, 28),
                        each.incidents, each.nodes, each.open, each.hours);
  }
  if (state.causes.size() > kMost) {
    text += fmt::format("  and {} more\n", counted(state.causes.size() - kMost, "cause"));
  }
  if (!state.offenders.empty()) {
    text += fmt::format("\nrepeat offenders of the last {} days\n", fleet::kOffenderDays);
  }
  for (std::size_t i = 0; i < std::min(kMost, state.offenders.size()); ++i) {
    text += fmt::format("  {}\n", fleet::offender_line(state.offenders[i]));
  }
  if (state.offenders.size() > kMost) {
    text += fmt::format("  and {} more\n", state.offenders.size() - kMost);
  }
  if (!state.parts.empty()) text += "\nparts ever seen\n";
  for (std::size_t i = 0; i < std::min(kMost, state.parts.size()); ++i) {
    const auto& each = state.parts[i];
    text += fmt::format("  {:<8}{:<34}{:>8}\n", printable(each.kind, 8), printable(each.model, 32),
                        each.parts);
  }
  if (state.replaced > 0) {
    text += fmt::format("  {} replaced or moved in the last {} days\n",
                        counted(std::uint64_t(state.replaced), "part"), kRecent_days);
  }
  if (state.refused > 0) {
    text += fmt::format("\nrefused     {}\n", counted(std::uint64_t(state.refused), "document"));
  }
  for (const auto& each : state.refused_first) {
    text += fmt::format("  {}: {}\n", printable(each.name, 40), printable(each.why, 50));
  }
  return text;
}

}  // namespace

int run_fleet_show(const FleetCommand& command, const Caller& caller) {
  return fleet::answer(command, caller, [&](Database& database) -> Result<std::string> {
    if (command.form == FleetCommand::Form::html) {
      TRY_ASSIGN(const auto nodes, fleet::read_nodes(database, command.cluster));
      TRY_ASSIGN(const auto answers, fleet::ask_all(database, nodes));
      return fleet::fleet_page(nodes, answers, command.cluster);
    }
    TRY_ASSIGN(const auto state, read_state(database, command.cluster));
    if (command.form == FleetCommand::Form::json) {
      return fmt::format("{}\n", to_json_line(state));
    }
    return to_text(state);
  });
}

}  // namespace muster::app
