// SPDX-License-Identifier: Apache-2.0
#include "fleet/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <utility>

#include "bench/locate/rounds.hpp"
#include "fleet/ask.hpp"
#include "fleet/fleet_command.hpp"
#include "fleet/node_intervals.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/node/parts.hpp"

namespace muster::fleet {
namespace {

constexpr std::string_view kNoPart = "no single part";
constexpr std::string_view kNotKnown = "not known";

struct Incident {
  std::int64_t node = 0, at = 0;
  std::string cause, device;
  std::optional<std::int64_t> part;
  double lost_h = 0;
};

// Adds up the incidents and the exposure of each key.
class CauseTable {
 public:
  Cause& operator[](std::string_view key) {
    auto& cause = causes_[std::string(key.empty() ? kNotKnown : key)];
    return cause;
  }

  void add(std::string_view key, const Incident& incident) {
    auto& cause = (*this)[key];
    ++cause.incidents;
    cause.lost_h += incident.lost_h;
  }

  // Keys without incidents are left out, unless they are useful to compare with: a firmware.
  [[nodiscard]] std::vector<Cause> take(bool all) {
    std::vector<Cause> causes;
    for (auto& [key, cause] : causes_) {
      if (cause.incidents == 0 && (!all || key == kNoPart)) continue;
      cause.key = key;
      causes.push_back(std::move(cause));
    }
    return causes;
  }

 private:
  std::map<std::string, Cause> causes_;
};

// The parts of a node, from one report that lists different ones to the next.
struct FittedInterval {
  std::int64_t started = 0, ended = 0;
  std::vector<Part> parts;
};

class CausesQuestion {
 public:
  CausesQuestion(Database& database, const Nodes& nodes, std::int64_t since, std::int64_t until)
      : database_(database), nodes_(nodes), since_(since), until_(until) {}

  Result<void> read() {
    TRY_ASSIGN(uptimes, Uptimes::read(database_, nodes_, since_, until_));
    return database_.each(
        "SELECT node, started, cause, device, part, hours FROM incident "
        "WHERE started >= ? AND started < ?",
        [&](const Row& row) {
          if (!nodes_.contains(row.whole(0))) return;
          incidents.push_back({.node = row.whole(0),
                               .at = row.whole(1),
                               .cause = std::string(row.text(2)),
                               .device = std::string(row.text(3)),
                               .part = row.maybe_whole(4),
                               .lost_h = row.number(5)});
        },
        since_, until_);
  }

  void count_checks(CauseTable& table) const {
    const double exposure_h = fleet_h();
    for (const auto& incident : incidents) {
      table.add(incident.cause, incident);
      table[incident.cause].exposure_h = exposure_h;
    }
  }

  // Groups by a text of each node.
  template <class KeyOf>
  void count_nodes(CauseTable& table, const KeyOf& key_of) const {
    for (const auto& [id, node] : nodes_) table[key_of(node)].exposure_h += uptimes.hours(id);
    for (const auto& each : incidents) table.add(key_of(nodes_.at(each.node)), each);
  }

  template <class KeyOf>
  Result<void> count_parts(CauseTable& table, const KeyOf& key_of) const {
    TRY_ASSIGN(const auto seats, read_seats(database_, nodes_));
    std::unordered_map<std::int64_t, std::string> keys;
    for (const auto& seat : seats) {
      const auto key = key_of(seat);
      if (key.empty()) continue;
      keys[seat.part] = key;
      table[key].exposure_h += hours(seat.node, seat.started, seat.last);
    }
    table[kNoPart].exposure_h = fleet_h();
    for (const auto& each : incidents) {
      const auto key = each.part ? keys.find(*each.part) : keys.end();
      table.add(key == keys.end() ? kNoPart : std::string_view(key->second), each);
    }
    return {};
  }

  // Groups by the physical host that a node was on.
  Result<void> count_hosts(CauseTable& table) const {
    TRY_ASSIGN(const auto seats, read_seats(database_, nodes_));
    std::unordered_map<std::int64_t, std::vector<const Seat*>> by_node;
    for (const auto& seat : seats) {
      if (seat.kind != "host") continue;
      by_node[seat.node].push_back(&seat);
      table[seat.serial].exposure_h += hours(seat.node, seat.started, seat.last);
    }
    for (const auto& each : incidents) {
      const Seat* on = nullptr;  // the newest until then
      for (const auto* seat : by_node[each.node]) {
        const bool is_newer = on == nullptr || on->started < seat->started;
        if (seat->started <= each.at && is_newer) on = seat;
      }
      table.add(on == nullptr ? kNotKnown : std::string_view(on->serial), each);
    }
    return {};
  }

  Result<void> count_firmware(CauseTable& table) const {
    TRY_ASSIGN(const auto fittings, read_fittings());
    const auto key_of = [](const Part& part) {
      return fmt::format("{} {} {}", part.kind, part.model, part.firmware);
    };
    for (const auto& [node, of_node] : fittings) {
      for (const auto& fitting : of_node) {
        const double up_h = hours(node, fitting.started, fitting.ended);
        for (const auto& part : fitting.parts) {
          if (!part.firmware.empty()) table[key_of(part)].exposure_h += up_h;
        }
      }
    }
    table[kNoPart].exposure_h = fleet_h();
    for (const auto& each : incidents) {
      const auto known = fittings.find(each.node);
      std::string key(kNoPart);
      if (known != fittings.end()) {
        for (const auto& fitting : known->second) {
          if (fitting.started > each.at) break;
          for (const auto& part : fitting.parts) {
            const bool is_it = part.device == each.device || part.address == each.device;
            if (is_it && !part.firmware.empty()) key = key_of(part);
          }
        }
      }
      table.add(key, each);
    }
    return {};
  }

  [[nodiscard]] double fleet_h() const {
    double sum = 0;
    for (const auto& [id, node] : nodes_) sum += uptimes.hours(id);
    return sum;
  }

  Uptimes uptimes;
  std::vector<Incident> incidents;

 private:
  [[nodiscard]] double hours(std::int64_t node, std::int64_t from, std::int64_t until) const {
    return uptimes.hours(node, std::max(from, since_), std::min(until, until_));
  }

  // By node, in order of time.
  [[nodiscard]] Result<std::unordered_map<std::int64_t, std::vector<FittedInterval>>>
  read_fittings() const {
    std::unordered_map<std::int64_t, std::vector<FittedInterval>> by_node;
    std::unordered_map<std::int64_t, std::vector<Part>> known;
    std::vector<std::pair<std::int64_t, std::pair<std::int64_t, std::int64_t>>> starts;
    TRY(database_.each("SELECT node, started, fitting FROM fitted ORDER BY node, started",
                       [&](const Row& row) {
                         const auto node = row.whole(0);
                         if (nodes_.contains(node))
                           starts.push_back({row.whole(2), {node, row.whole(1)}});
                       }));
    for (const auto& [id, start] : starts) {
      const auto is_new = known.try_emplace(id);
      if (is_new.second) {
        std::string text;
        TRY(database_.each(
            "SELECT parts FROM fitting WHERE id = ?", [&](const Row& row) { text = row.text(0); },
            id));
        TRY_ASSIGN(is_new.first->second, from_json<std::vector<Part>>(text));
      }
      auto& of_node = by_node[start.first];
      if (!of_node.empty()) of_node.back().ended = start.second;
      of_node.push_back({start.second, until_, is_new.first->second});
    }
    return by_node;
  }

  Database& database_;
  const Nodes& nodes_;
  std::int64_t since_, until_;
};

// Reads Slurm's topology.conf, or lines "leaf0 gpu-[01-16]".
Result<Leaves> read_leaves(const std::string& file, const Nodes& nodes) {
  constexpr std::size_t kLargestFile = 16UL << 20U;
  const auto path = std::filesystem::absolute(file).string();
  TRY_ASSIGN(const auto text, Root().read(path, kLargestFile));
  bench::locate::Nodes known;
  for (const auto& [id, node] : nodes) known.names.push_back(node.name);
  TRY(bench::locate::set_topology(known, text, file));
  Leaves leaves;
  for (std::size_t i = 0; i < known.count(); ++i) {
    const auto leaf = known.leaf(i);
    if (leaf == bench::locate::kNoLeaf) continue;
    leaves[known.names[i]] = known.leaf_names[static_cast<std::size_t>(leaf)];
  }
  return leaves;
}

// Draws a bar such as "########", in eight steps.
std::string bar_of(double share) {
  constexpr double kLongest = 20;
  return std::string(static_cast<std::size_t>(std::lround(kLongest * share)), '#');
}

}  // namespace

Result<CausesAnswer> ask_causes(Database& database, const Nodes& nodes, CausesBy by,
                                std::int64_t since, const Leaves& leaves) {
  const auto until = newest_of(nodes) + 1;
  TRY_ASSIGN(const auto oldest, database.whole("SELECT min(first) FROM node"));
  since = std::max(since, oldest.value_or(0));
  CausesQuestion question(database, nodes, since, until);
  TRY(question.read());
  CauseTable table;
  switch (by) {
    case CausesBy::check:
      question.count_checks(table);
      break;
    case CausesBy::part_kind:
      TRY(question.count_parts(table, [](const Seat& seat) { return seat.kind; }));
      break;
    case CausesBy::model:
      TRY(question.count_parts(
          table, [](const Seat& seat) { return fmt::format("{} {}", seat.kind, seat.model); }));
      break;
    case CausesBy::firmware:
      TRY(question.count_firmware(table));
      break;
    case CausesBy::host:
      TRY(question.count_hosts(table));
      break;
    case CausesBy::leaf:
      question.count_nodes(table, [&](const NodeName& node) {
        const auto leaf = leaves.find(node.name);
        return leaf == leaves.end() ? std::string() : leaf->second;
      });
      break;
    case CausesBy::action:  // see ask_actions()
    case CausesBy::provider:
      question.count_nodes(table, [](const NodeName& node) { return node.cluster; });
      break;
  }
  CausesAnswer answer{
      .by = by,
      .from = date_of(since),
      .until = date_of(until - 1),
      .nodes = nodes.size(),
      .all = mtbf_of(question.fleet_h(), static_cast<std::int64_t>(question.incidents.size())),
      .rows = pareto_of(table.take(by == CausesBy::firmware))};
  for (const auto& row : answer.rows) answer.lost_h += row.lost_h;
  return answer;
}

std::string causes_text(const CausesAnswer& answer, std::size_t width) {
  std::vector<std::string> lines{fmt::format(
      "causes   {} from {} to {}: {}, {:.0f} node-hours lost{}", counted(answer.nodes, "node"),
      answer.from, answer.until,
      counted(static_cast<std::uint64_t>(answer.all.incidents), "incident"), answer.lost_h,
      answer.all.exposure_h > 0 ? fmt::format("; a node has one in {}", mtbf_text(answer.all))
                                : "")};
  std::size_t longest = 0;
  for (const auto& row : answer.rows) longest = std::max(longest, text_width(row.key));
  longest = std::min<std::size_t>(longest, 40);
  for (const auto& row : answer.rows) {
    lines.push_back(fmt::format("{:<{}}  {:>5}  {:>9.0f} h  {:>4.0f}%  {:<20}  {}{}",
                                printable(row.key, 60), longest, row.incidents, row.lost_h,
                                100 * row.share, bar_of(row.share),
                                row.mtbf.exposure_h > 0 ? "one in " : "", mtbf_text(row.mtbf)));
  }
  return screen(lines, width);
}

// An admin did the same as a shadow if they made muster do it in that incident. Otherwise, the way
// the node became healthy decides: a new boot means a reboot, the same boot a reset or a service
// restart.
Result<ActionsAnswer> ask_actions(Database& database, const Nodes& nodes, std::int64_t since) {
  struct Shadow {
    std::int64_t node, at;
    std::string rung, incident, boot;
  };

  std::map<std::string, ActionRow> rows;
  std::vector<Shadow> shadows;
  TRY(database.each(
      "SELECT node, at, context, reason, boot_id, message FROM event AS one WHERE kind = 'action' "
      "AND at >= ?1 AND NOT EXISTS(SELECT 1 FROM event AS later WHERE later.kind = 'action' AND "
      "later.node = one.node AND later.job = one.job AND later.at >= one.at AND (later.at > one.at "
      "OR one.message = 'reserved' AND later.message <> 'reserved'))",
      [&](const Row& row) {
        if (!nodes.contains(row.whole(0))) return;
        if (row.text(5) == "shadow") {
          shadows.push_back({row.whole(0), row.whole(1), std::string(row.text(2)),
                             std::string(row.text(3)), std::string(row.text(4))});
        } else {
          ++rows[std::string(row.text(2))].outcomes[std::string(row.text(5))];
        }
      },
      since));
  for (const auto& each : shadows) {
    auto& row = rows[each.rung];
    TRY_ASSIGN(const auto was_done,
               database.whole("SELECT 1 FROM event WHERE kind = 'action' AND node = ? AND context "
                              "= ? AND reason = ? AND message NOT IN ('shadow', 'cancelled', "
                              "'prepared') LIMIT 1",
                              each.node, each.rung, each.incident));
    std::optional<std::string> boot;  // in which the node was healthy again
    TRY(database.each(
        "SELECT boot_id FROM report LEFT JOIN boot ON boot.id = report.boot WHERE "
        "report.node = ? AND at > ? AND verdict = 'healthy' ORDER BY at LIMIT 1",
        [&](const Row& found) { boot = found.text(0); }, each.node, each.at));
    if (!was_done && !boot) {
      ++row.open;
      continue;
    }
    ++row.shadows;
    const bool was_rebooted = boot && *boot != each.boot;
    const bool is_same = each.rung == "reboot" ? was_rebooted : boot && !was_rebooted;
    if (was_done || (is_same && each.rung != "claim")) ++row.agreed;
  }
  ActionsAnswer answer;
  for (auto& [action, row] : rows) {
    row.action = action;
    answer.rows.push_back(std::move(row));
  }
  return answer;
}

std::string actions_text(const ActionsAnswer& answer, std::size_t width) {
  std::vector<std::string> lines;
  for (const auto& row : answer.rows) {
    auto text = fmt::format("{:<16} {} of {} agree with what admins did", printable(row.action, 40),
                            row.agreed, row.shadows);
    if (row.open > 0) text += fmt::format(", {} open", row.open);
    for (const auto& [state, count] : row.outcomes) {
      text += fmt::format("; {} {}", count, printable(state, 40));
    }
    lines.push_back(std::move(text));
  }
  if (lines.empty()) lines.emplace_back("no actions: import journal.jsonl of the repair folder");
  return screen(lines, width);
}

}  // namespace muster::fleet

namespace muster::app {

int run_fleet_causes(const FleetCommand& command, const Caller& caller) {
  const auto by = parse_word<fleet::CausesBy>(command.by.empty() ? "check" : command.by);
  if (!by) {
    return fail(caller, {.status = kExitUsage,
                         .message = fmt::format("invalid --by \"{}\", expected {}",
                                                printable(command.by, 40), fleet::kCausesBy)});
  }
  if (*by == fleet::CausesBy::leaf && command.topology.empty()) {
    return fail(caller, {.status = kExitUsage,
                         .message = "--by leaf needs --topology FILE, Slurm's topology.conf"});
  }
  if (*by == fleet::CausesBy::action) {
    return fleet::answer_question(
        command, caller,
        [&](fleet::Database& database, const fleet::Nodes& nodes) {
          return fleet::ask_actions(database, nodes, fleet::since_of(command, nodes));
        },
        fleet::actions_text);
  }
  return fleet::answer_question(
      command, caller,
      [&](fleet::Database& database, const fleet::Nodes& nodes) -> Result<fleet::CausesAnswer> {
        fleet::Leaves leaves;
        if (*by == fleet::CausesBy::leaf) {
          TRY_ASSIGN(leaves, fleet::read_leaves(command.topology, nodes));
        }
        return fleet::ask_causes(database, nodes, *by, fleet::since_of(command, nodes), leaves);
      },
      fleet::causes_text);
}

}  // namespace muster::app
