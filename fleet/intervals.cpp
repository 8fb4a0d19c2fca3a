// SPDX-License-Identifier: Apache-2.0
#include "fleet/intervals.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fleet/node_history.hpp"
#include "fleet/store.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/outcome.hpp"
#include "lib/node/parts.hpp"

namespace muster::fleet {
namespace {

// A dictionary of the store, read on demand.
template <class T>
using Read = std::unordered_map<std::int64_t, T>;

struct Setup {
  bool is_check = false;
  std::string profile, physical_host, stack;
  std::set<std::string> judged;
};

std::string value_text(const Value& value) {
  return std::holds_alternative<std::monostate>(value) ? "" : to_json_line(value);
}

Result<Value> value_of(std::string_view text) {
  return text.empty() ? Result<Value>() : from_json<Value>(text);
}

class Renewal {
 public:
  explicit Renewal(Database& database) : database_(database) {}

  [[nodiscard]] Result<void> renew(std::int64_t node, Touched touched) {
    Past past;
    if (touched == Touched::at_end) {
      TRY_ASSIGN(past, read_past(node));
    }
    Result<void> read;
    TRY(database_.each(
        "SELECT at, verdict, boot, setup, fitting, found FROM report WHERE node = ? AND at > ? "
        "ORDER BY at, sum",
        [&](const Row& row) {
          if (read) read = add_report(row, past);
        },
        node, past.since.value_or(std::numeric_limits<std::int64_t>::min())));
    TRY(read);
    past.history.finish();
    TRY(write(node, past));
    for (const auto& [started, fitting] : past.fitted) {
      TRY(database_.run("INSERT OR REPLACE INTO fitted VALUES(?, ?, ?)", node, started, fitting));
    }
    for (const auto& [boot, of_boot] : past.boots) {
      TRY(
          database_.run("UPDATE boot SET first = ?, last = ?, physical_host = ?, profile = ?, "
                        "stack = ? WHERE id = ?",
                        of_boot.first, of_boot.last, of_boot.physical_host, of_boot.profile,
                        of_boot.stack, boot));
    }
    const auto& newest = past.newest;
    return database_.run(
        "UPDATE node SET first = ?, last = ?, reports = ?, verdict = ?, "
        "profile = ?, touched = 0 WHERE id = ?",
        newest.first, newest.last, newest.reports, newest.verdict, newest.profile, node);
  }

 private:
  // The state of a node or a boot. Each text comes from the newest report that has one.
  struct Newest {
    std::optional<std::int64_t> first, last;
    std::int64_t reports = 0;
    std::string verdict, profile, physical_host, stack;

    void add(const ReportRow& report, const Setup& setup) {
      if (!first) first = report.at;
      last = report.at;
      ++reports;
      if (report.is_check && !report.verdict.empty()) verdict = report.verdict;
      if (!setup.profile.empty()) profile = setup.profile;
      if (!setup.physical_host.empty()) physical_host = setup.physical_host;
      if (!setup.stack.empty()) stack = setup.stack;
    }
  };

  // The state of the walk through a node's reports.
  struct Past {
    std::optional<std::int64_t> since;     // reports until then are in it
    std::vector<SeatInterval> open_seats;  // in the store
    NodeHistory history;
    Newest newest;
    std::map<std::int64_t, Newest> boots;
    std::vector<std::pair<std::int64_t, std::int64_t>> fitted;  // since when, with what
  };

  // Returns the state at the end of the earlier walk. Empty if an incident is open, because its
  // failures are not stored one by one.
  [[nodiscard]] Result<Past> read_past(std::int64_t node) {
    TRY_ASSIGN(const auto incident,
               database_.whole("SELECT 1 FROM incident WHERE node = ? AND ended IS NULL", node));
    if (incident) return Past();
    Past past;
    auto& newest = past.newest;
    TRY(database_.each(
        "SELECT first, last, reports, verdict, profile FROM node WHERE id = ?",
        [&](const Row& row) {
          newest.first = row.whole(0);
          past.since = newest.last = row.whole(1);
          newest.reports = row.whole(2);
          newest.verdict = row.text(3);
          newest.profile = row.text(4);
        },
        node));
    TRY(database_.each(
        "SELECT started, fitting FROM fitted WHERE node = ? ORDER BY started DESC LIMIT 1",
        [&](const Row& row) { past.fitted.emplace_back(row.whole(0), row.whole(1)); }, node));
    TRY(read_open_intervals(node, past));
    return past;
  }

  [[nodiscard]] Result<void> read_open_intervals(std::int64_t node, Past& past) {
    TRY(database_.each(
        "SELECT part, kind, slot, device, started, last FROM seat JOIN part ON part.id = part "
        "WHERE node = ? AND ended IS NULL",
        [&](const Row& row) {
          past.open_seats.push_back({.seat = {.part = row.whole(0),
                                              .kind = std::string(row.text(1)),
                                              .slot = std::string(row.text(2)),
                                              .device = std::string(row.text(3))},
                                     .started = row.whole(4),
                                     .last = row.whole(5),
                                     .ended = {}});
        },
        node));
    std::vector<FindingInterval> findings;
    Result<void> read;
    TRY(database_.each(
        "SELECT part, check_id, device, outcome, code, remedy, message, observed, limit_value, "
        "unit, started, last, reports FROM finding WHERE node = ? AND ended IS NULL",
        [&](const Row& row) {
          if (read) read = add_finding(row, findings);
        },
        node));
    TRY(read);
    std::optional<UptimeInterval> uptime;
    TRY(database_.each(
        "SELECT started, ended, boot FROM uptime WHERE node = ? ORDER BY started DESC LIMIT 1",
        [&](const Row& row) {
          uptime = {row.whole(0), row.whole(1), row.maybe_whole(2)};
        },
        node));
    past.history.resume(past.open_seats, std::move(findings), uptime);
    return {};
  }

  [[nodiscard]] static Result<void> add_finding(const Row& row,
                                                std::vector<FindingInterval>& findings) {
    TRY_ASSIGN(auto observed, value_of(row.text(7)));
    TRY_ASSIGN(auto limit, value_of(row.text(8)));
    findings.push_back(
        {.finding = {.check = std::string(row.text(1)),
                     .device = std::string(row.text(2)),
                     .outcome = parse_word<Outcome>(row.text(3)).value_or(Outcome::unknown),
                     .code = std::string(row.text(4)),
                     .remedy = parse_word<Remedy>(row.text(5)).value_or(Remedy::none),
                     .message = std::string(row.text(6)),
                     .observed = std::move(observed),
                     .limit = std::move(limit),
                     .unit = std::string(row.text(9))},
         .part = row.maybe_whole(0),
         .started = row.whole(10),
         .last = row.whole(11),
         .ended = {},
         .reports = row.whole(12)});
    return {};
  }

  [[nodiscard]] Result<void> add_report(const Row& row, Past& past) {
    const auto setup_id = row.whole(3);
    if (!setups_.contains(setup_id)) TRY(read_setup(setup_id));
    const auto& setup = setups_.at(setup_id);
    ReportRow report{.at = row.whole(0),
                     .verdict = std::string(row.text(1)),
                     .boot = row.maybe_whole(2),
                     .is_check = setup.is_check,
                     .judged = &setup.judged};
    if (const auto fitting = row.maybe_whole(4)) {
      if (!fittings_.contains(*fitting)) TRY(read_fitting(*fitting));
      report.fitting = &fittings_.at(*fitting);
      if (past.fitted.empty() || past.fitted.back().second != *fitting) {
        past.fitted.emplace_back(report.at, *fitting);
      }
    }
    if (!row.is_null(5)) {
      TRY_ASSIGN(report.found, from_json<std::vector<FoundFinding>>(row.text(5)));
    }
    past.history.add(report);
    past.newest.add(report, setup);
    if (!report.boot) return {};
    const auto [boot, is_new] = past.boots.try_emplace(*report.boot);
    if (is_new && past.since) TRY(read_boot(*report.boot, boot->second));
    boot->second.add(report, setup);
    return {};
  }

  [[nodiscard]] Result<void> read_boot(std::int64_t id, Newest& boot) {
    return database_.each(
        "SELECT first, physical_host, profile, stack FROM boot WHERE id = ?",
        [&](const Row& row) {
          boot.first = row.maybe_whole(0);
          boot.physical_host = row.text(1);
          boot.profile = row.text(2);
          boot.stack = row.text(3);
        },
        id);
  }

  [[nodiscard]] Result<void> read_setup(std::int64_t id) {
    Setup setup;
    std::string judged;
    TRY(database_.each(
        "SELECT benchmark = '', profile, physical_host, stack, checks "
        "FROM setup JOIN scope ON scope.id = setup.scope WHERE setup.id = ?",
        [&](const Row& row) {
          setup.is_check = row.whole(0) != 0;
          setup.profile = row.text(1);
          setup.physical_host = row.text(2);
          setup.stack = row.text(3);
          judged = row.text(4);
        },
        id));
    TRY_ASSIGN(const auto checks, from_json<std::vector<std::string>>(judged));
    setup.judged = {checks.begin(), checks.end()};
    setups_[id] = std::move(setup);
    return {};
  }

  [[nodiscard]] Result<void> read_fitting(std::int64_t id) {
    std::string text;
    TRY(database_.each(
        "SELECT parts FROM fitting WHERE id = ?", [&](const Row& row) { text = row.text(0); }, id));
    TRY_ASSIGN(const auto parts, from_json<std::vector<Part>>(text));
    std::vector<SeatedPart> seated;
    for (const auto& part : parts) {
      TRY_ASSIGN(const auto part_id, id_of(part));
      seated.push_back({.part = part_id,
                        .kind = part.kind,
                        .slot = part.address.empty() ? part.device : part.address,
                        .device = part.device});
    }
    fittings_[id] = std::move(seated);
    return {};
  }

  // If documents disagree about the model, the last in the alphabet counts, in every order.
  [[nodiscard]] Result<std::int64_t> id_of(const Part& part) {
    std::optional<std::int64_t> id;
    std::string model;
    TRY(database_.each(
        "SELECT id, model FROM part WHERE kind = ? AND serial = ?",
        [&](const Row& row) {
          id = row.whole(0);
          model = row.text(1);
        },
        part.kind, part.serial));
    if (!id) {
      TRY(database_.run("INSERT INTO part(kind, serial, model) VALUES(?, ?, ?)", part.kind,
                        part.serial, part.model));
      return database_.last_id();
    }
    if (model < part.model) {
      TRY(database_.run("UPDATE part SET model = ? WHERE id = ?", part.model, *id));
    }
    return *id;
  }

  // Most seats only have a later `last`, the same for all: rows with other keys are rare.
  [[nodiscard]] Result<void> write_seats(std::int64_t node, const Past& past) {
    const auto& seats = past.history.seats;
    if (seats.empty()) return {};
    const auto last_of = [](const std::vector<SeatInterval>& of) {
      return std::ranges::max(of, {}, &SeatInterval::last).last;
    };
    auto stored = past.open_seats;
    if (!stored.empty()) {
      const auto before = last_of(stored);
      const auto now = last_of(seats);
      TRY(database_.run("UPDATE seat SET last = ? WHERE node = ? AND ended IS NULL AND last = ?",
                        now, node, before));
      for (auto& each : stored) {
        if (each.last == before) each.last = now;
      }
    }
    const auto write = [&]() -> Result<void> {
      for (std::size_t i = 0; i < seats.size(); ++i) {
        const auto& each = seats[i];
        if (i < stored.size() && each == stored[i]) continue;
        TRY(
            database_.run("INSERT INTO seat VALUES(?, ?, ?, ?, ?, ?, ?) "
                          "ON CONFLICT(node, slot, part, started) DO UPDATE SET "
                          "device = excluded.device, last = excluded.last, ended = excluded.ended",
                          each.seat.part, node, each.seat.slot, each.seat.device, each.started,
                          each.last, each.ended));
      }
      return {};
    };
    TRY(write());
    if (past.since) return {};
    TRY_ASSIGN(const auto rows, database_.whole("SELECT count(*) FROM seat WHERE node = ?", node));
    if (rows == std::ssize(seats)) return {};
    TRY(database_.run("DELETE FROM seat WHERE node = ?", node));
    return write();
  }

  // Forgets the intervals that are written again.
  [[nodiscard]] Result<void> forget(std::int64_t node, bool is_resumed) {
    if (is_resumed) {
      TRY(database_.run("DELETE FROM finding WHERE node = ? AND ended IS NULL", node));
      return database_.run(
          "DELETE FROM uptime WHERE node = ?1 AND started = "
          "(SELECT max(started) FROM uptime WHERE node = ?1)",
          node);
    }
    TRY(database_.run("DELETE FROM finding WHERE node = ?", node));
    TRY(database_.run("DELETE FROM incident WHERE node = ?", node));
    TRY(database_.run("DELETE FROM fitted WHERE node = ?", node));
    return database_.run("DELETE FROM uptime WHERE node = ?", node);
  }

  [[nodiscard]] Result<void> write(std::int64_t node, const Past& past) {
    const auto& history = past.history;
    TRY(forget(node, past.since.has_value()));
    TRY(write_seats(node, past));
    for (const auto& each : history.findings) {
      const auto& finding = each.finding;
      TRY(database_.run(
          "INSERT OR IGNORE INTO finding VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", node,
          each.part, finding.check, finding.device, to_string(finding.outcome), finding.code,
          to_string(finding.remedy), finding.message, value_text(finding.observed),
          value_text(finding.limit), finding.unit, each.started, each.last, each.ended,
          each.reports));
    }
    for (const auto& each : history.incidents) {
      TRY(database_.run("INSERT OR IGNORE INTO incident VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", node,
                        each.started, each.cause, each.device, each.part, each.boot, each.ended,
                        each.hours, each.message));
    }
    for (const auto& each : history.uptimes) {
      TRY(database_.run("INSERT OR IGNORE INTO uptime VALUES(?, ?, ?, ?)", node, each.started,
                        each.ended, each.boot));
    }
    return {};
  }

  Database& database_;
  Read<Setup> setups_;
  Read<std::vector<SeatedPart>> fittings_;
};

}  // namespace

Result<std::uint64_t> renew_intervals(Database& database) {
  constexpr std::size_t kNodesAtOnce = 2000;
  std::vector<std::pair<std::int64_t, Touched>> nodes;
  TRY(database.each("SELECT id, touched FROM node WHERE touched ORDER BY id", [&](const Row& row) {
    nodes.emplace_back(row.whole(0), static_cast<Touched>(row.whole(1)));
  }));
  Renewal renewal(database);
  for (std::size_t done = 0; done < nodes.size();) {
    TRY(in_transaction(database, [&]() -> Result<void> {
      for (std::size_t i = 0; i < kNodesAtOnce && done < nodes.size(); ++i, ++done) {
        TRY(renewal.renew(nodes[done].first, nodes[done].second));
      }
      return {};
    }));
  }
  return nodes.size();
}

}  // namespace muster::fleet
