// SPDX-License-Identifier: Apache-2.0
// `muster fleet part SERIAL|NODE`: the history of a part, wherever it was, or of a node.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fleet/ask.hpp"
#include "fleet/fleet_command.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"

namespace muster::app {
namespace {

using fleet::Database;
using fleet::Row;
using fleet::to_minutes;

struct SeatLine {
  MUSTER_DESCRIBED(SeatLine);
  MUSTER_FIELD(std::string, kind, "");
  MUSTER_FIELD(std::string, serial, "");
  MUSTER_FIELD(std::string, model, "");
  MUSTER_FIELD(std::string, node, "");
  MUSTER_FIELD(std::string, device, "");
  MUSTER_FIELD(std::string, slot, "");
  MUSTER_FIELD(std::string, started, "first seen there");
  MUSTER_FIELD(std::string, last, "seen there");
  MUSTER_FIELD(std::string, ended, "replaced or moved; empty: still there");
};

struct IncidentLine {
  MUSTER_DESCRIBED(IncidentLine);
  MUSTER_FIELD(std::string, node, "");
  MUSTER_FIELD(std::string, cause, "");
  MUSTER_FIELD(std::string, device, "");
  MUSTER_FIELD(std::string, serial, "serial number of the part that the device was at the time");
  MUSTER_FIELD(std::string, started, "");
  MUSTER_FIELD(std::string, ended, "empty: still open");
  MUSTER_FIELD(double, hours, "lost") = 0;
  MUSTER_FIELD(std::string, message, "");
};

struct FindingLine {
  MUSTER_DESCRIBED(FindingLine);
  MUSTER_FIELD(std::string, node, "");
  MUSTER_FIELD(std::string, check, "");
  MUSTER_FIELD(std::string, device, "");
  MUSTER_FIELD(std::string, outcome, "");
  MUSTER_FIELD(std::string, started, "");
  MUSTER_FIELD(std::string, last, "");
  MUSTER_FIELD(std::int64_t, reports, "") = 0;
  MUSTER_FIELD(std::string, message, "");
};

struct OutageLine {
  MUSTER_DESCRIBED(OutageLine);
  MUSTER_FIELD(std::string, state, "of Slurm");
  MUSTER_FIELD(std::string, started, "");
  MUSTER_FIELD(std::string, ended, "");
  MUSTER_FIELD(std::string, who, "");
  MUSTER_FIELD(std::string, reason, "");
};

struct Life {
  static constexpr std::string_view kSchema = "muster.fleet_part/1";
  MUSTER_DESCRIBED(Life);
  MUSTER_FIELD(std::string, what, "part or node");
  MUSTER_FIELD(std::string, name, "");
  MUSTER_FIELD(std::string, cluster, "only for a node");
  MUSTER_FIELD(std::string, about, "the model, or the profile");
  MUSTER_FIELD(std::string, verdict, "current verdict on a node");
  MUSTER_FIELD(double, hours, "observed, up") = 0;
  MUSTER_FIELD(std::int64_t, boots, "only for a node") = 0;
  MUSTER_FIELD(std::vector<SeatLine>, seats, "");
  MUSTER_FIELD(std::vector<IncidentLine>, incidents, "newest first");
  MUSTER_FIELD(std::vector<FindingLine>, findings, "open findings");
  MUSTER_FIELD(std::vector<OutageLine>, outages, "only for a node, newest first");
};

std::string time(const Row& row, int column) {
  return row.is_null(column) ? "" : utc(row.whole(column));
}

// `where` is the column that ?1 selects by: part or node.
Result<void> read_life(Database& database, std::string_view where, std::int64_t id, Life& life) {
  TRY(database.each(
      fmt::format("SELECT kind, serial, model, node.name, device, slot, started, seat.last, ended "
                  "FROM seat JOIN part ON part.id = part JOIN node ON node.id = node "
                  "WHERE seat.{} = ? ORDER BY ended IS NULL, started, slot",
                  where),
      [&](const Row& row) {
        life.seats.push_back({.kind = std::string(row.text(0)),
                              .serial = std::string(row.text(1)),
                              .model = std::string(row.text(2)),
                              .node = std::string(row.text(3)),
                              .device = std::string(row.text(4)),
                              .slot = std::string(row.text(5)),
                              .started = time(row, 6),
                              .last = time(row, 7),
                              .ended = time(row, 8)});
      },
      id));
  TRY(database.each(
      fmt::format("SELECT node.name, cause, device, serial, started, ended, hours, message "
                  "FROM incident JOIN node ON node.id = node LEFT JOIN part ON part.id = part "
                  "WHERE incident.{} = ? ORDER BY started DESC",
                  where),
      [&](const Row& row) {
        life.incidents.push_back({.node = std::string(row.text(0)),
                                  .cause = std::string(row.text(1)),
                                  .device = std::string(row.text(2)),
                                  .serial = std::string(row.text(3)),
                                  .started = time(row, 4),
                                  .ended = time(row, 5),
                                  .hours = row.number(6),
                                  .message = std::string(row.text(7))});
      },
      id));
  return database.each(
      fmt::format("SELECT node.name, check_id, device, outcome, started, finding.last, "
                  "finding.reports, message FROM finding JOIN node ON node.id = node "
                  "WHERE finding.{} = ? AND ended IS NULL ORDER BY started DESC",
                  where),
      [&](const Row& row) {
        life.findings.push_back({.node = std::string(row.text(0)),
                                 .check = std::string(row.text(1)),
                                 .device = std::string(row.text(2)),
                                 .outcome = std::string(row.text(3)),
                                 .started = time(row, 4),
                                 .last = time(row, 5),
                                 .reports = row.whole(6),
                                 .message = std::string(row.text(7))});
      },
      id);
}

Result<void> read_node(Database& database, std::int64_t id, Life& life) {
  life.what = "node";
  TRY(database.each(
      "SELECT profile, verdict, (SELECT count(*) FROM boot WHERE node = ?1), "
      "(SELECT sum(ended - started) / 3600.0 FROM uptime WHERE node = ?1), cluster "
      "FROM node WHERE id = ?1",
      [&](const Row& row) {
        life.about = row.text(0);
        life.verdict = row.text(1);
        life.boots = row.whole(2);
        life.hours = row.number(3);
        life.cluster = row.text(4);
      },
      id));
  TRY(database.each(
      "SELECT state, started, ended, who, reason FROM outage WHERE node = ? ORDER BY started DESC",
      [&](const Row& row) {
        life.outages.push_back({.state = std::string(row.text(0)),
                                .started = time(row, 1),
                                .ended = time(row, 2),
                                .who = std::string(row.text(3)),
                                .reason = std::string(row.text(4))});
      },
      id));
  return read_life(database, "node", id, life);
}

Result<void> read_part(Database& database, std::int64_t id, Life& life) {
  life.what = "part";
  TRY(database.each(
      "SELECT kind, model, (SELECT sum(ended - started) / 3600.0 FROM part_uptime WHERE part = ?1) "
      "FROM part WHERE id = ?1",
      [&](const Row& row) {
        life.about = trim(fmt::format("{} {}", row.text(0), row.text(1)));
        life.hours = row.number(2);
      },
      id));
  return read_life(database, "part", id, life);
}

Result<std::vector<Life>> lives_of(Database& database, const FleetCommand& command) {
  const auto& name = command.words.front();
  std::vector<std::int64_t> nodes, parts;
  TRY(database.each(
      "SELECT id FROM node WHERE name = ? AND ?2 IN ('', cluster)",
      [&](const Row& row) { nodes.push_back(row.whole(0)); }, name, command.cluster));
  TRY(database.each(
      "SELECT id FROM part WHERE serial = ?",
      [&](const Row& row) { parts.push_back(row.whole(0)); }, name));
  std::vector<Life> lives;
  for (const auto id : nodes) TRY(read_node(database, id, lives.emplace_back(Life{.name = name})));
  for (const auto id : parts) TRY(read_part(database, id, lives.emplace_back(Life{.name = name})));
  if (!lives.empty()) return lives;
  return make_missing(fmt::format("{}: no node or part with this name", printable(name, 80)));
}

std::string to_text(const Life& life) {
  constexpr std::size_t kMost = 20;
  const bool is_node = life.what == "node";
  auto text = fmt::format("{} {}{}: {}, {:.1f} days up", life.what, printable(life.name, 80),
                          life.cluster.empty() ? "" : fmt::format(" of {}", life.cluster),
                          printable(life.about, 60), life.hours / 24);
  if (is_node) {
    text += fmt::format(", {}, now {}", counted(std::uint64_t(life.boots), "boot"),
                        life.verdict.empty() ? "unknown" : life.verdict);
  }
  text += is_node ? "\n\nparts\n" : "\n\nseats\n";
  for (const auto& each : life.seats) {
    text +=
        fmt::format("  {:<22}{:<14}{:<18}from {} {}\n",
                    is_node ? printable(each.serial, 20) : printable(each.node, 20),
                    printable(each.device, 12), printable(each.slot, 16), to_minutes(each.started),
                    each.ended.empty() ? fmt::format("(seen {})", to_minutes(each.last))
                                       : fmt::format("to {}", to_minutes(each.ended)));
  }
  if (!life.incidents.empty()) {
    text += fmt::format("\n{}\n", counted(life.incidents.size(), "incident"));
  }
  for (std::size_t i = 0; i < std::min(kMost, life.incidents.size()); ++i) {
    const auto& each = life.incidents[i];
    const auto where = is_node ? printable(each.serial.empty() ? each.device : each.serial, 20)
                               : fmt::format("{} {}", printable(each.node, 20), each.device);
    text += fmt::format("  {}  {:>7}  {:<22}{:<26}{}\n", to_minutes(each.started),
                        each.ended.empty() ? "open" : fmt::format("{:.1f} h", each.hours),
                        printable(each.cause, 20), where, printable(each.message, 60));
  }
  if (life.incidents.size() > kMost) {
    text += fmt::format("  and {} earlier\n", life.incidents.size() - kMost);
  }
  if (!life.findings.empty()) text += "\nopen findings\n";
  for (const auto& each : life.findings) {
    text += fmt::format("  {}  {:<8}{:<22}{:<14}{}\n", to_minutes(each.started), each.outcome,
                        printable(each.check, 20), printable(each.device, 12),
                        printable(each.message, 60));
  }
  if (!life.outages.empty()) text += "\nout of service in Slurm\n";
  for (std::size_t i = 0; i < std::min(kMost, life.outages.size()); ++i) {
    const auto& each = life.outages[i];
    text +=
        fmt::format("  {}  to {:<18}{:<10}{:<12}{}\n", to_minutes(each.started),
                    each.ended.empty() ? "now" : to_minutes(each.ended), printable(each.state, 8),
                    printable(each.who, 10), printable(each.reason, 60));
  }
  return text;
}

}  // namespace

int run_fleet_part(const FleetCommand& command, const Caller& caller) {
  return fleet::answer(command, caller, [&](Database& database) -> Result<std::string> {
    TRY_ASSIGN(const auto lives, lives_of(database, command));
    std::string text;
    for (const auto& life : lives) {
      text += command.form == FleetCommand::Form::json ? fmt::format("{}\n", to_json_line(life))
                                                       : to_text(life);
    }
    return text;
  });
}

}  // namespace muster::app
