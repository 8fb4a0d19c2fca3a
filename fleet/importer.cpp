// SPDX-License-Identifier: Apache-2.0
#include "fleet/importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fleet/store.hpp"
#include "fleet/values.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"

namespace muster::fleet {
namespace {

constexpr std::size_t kMaxComplaints = 10;
constexpr std::size_t kLargestRefused = 1UL << 20U;

// The id of the new row.
template <class... Column>
Result<std::int64_t> inserted(Database& database, std::string_view sql, const Column&... columns) {
  TRY(database.run(sql, columns...));
  return database.last_id();
}

}  // namespace

template <class Insert>
Result<std::int64_t> Importer::entry_id(Ids& known, std::int64_t sum, std::string_view select,
                                        const Insert& insert) {
  const auto found = known.find(sum);
  if (found != known.end()) return found->second;
  TRY_ASSIGN(auto id, database_.whole(select, sum));
  if (!id) {
    TRY_ASSIGN(id, insert());
  }
  return known[sum] = *id;
}

Result<Importer::KnownNode*> Importer::node_of(std::string_view name) {
  const auto [known, is_new] = nodes_.try_emplace(std::string(name));
  auto& node = known->second;
  if (!is_new) return &node;
  TRY(database_.run("INSERT OR IGNORE INTO node(cluster, name) VALUES(?, ?)", cluster_, name));
  TRY(database_.each(
      "SELECT id, last FROM node WHERE cluster = ? AND name = ?",
      [&](const Row& row) {
        node.id = row.whole(0);
        node.last = row.maybe_whole(1);
      },
      cluster_, name));
  return &node;
}

Result<void> Importer::touch(KnownNode& node, std::int64_t at) {
  const auto how = node.last && at > *node.last ? Touched::at_end : Touched::anywhere;
  if (node.touched == Touched::anywhere || node.touched == how) return {};
  node.touched = how;
  return database_.run("UPDATE node SET touched = ? WHERE id = ? AND touched <> 1",
                       static_cast<int>(how), node.id);
}

Result<std::int64_t> Importer::setup_id(const NodeReport& report) {
  const auto insert_scope = [&] {
    return inserted(database_, "INSERT INTO scope(sum, checks) VALUES(?, ?)", report.scope.sum,
                    report.scope.text);
  };
  const auto insert = [&]() -> Result<std::int64_t> {
    TRY_ASSIGN(const auto scope, entry_id(scopes_, report.scope.sum,
                                          "SELECT id FROM scope WHERE sum = ?", insert_scope));
    return inserted(database_,
                    "INSERT INTO setup(sum, context, benchmark, profile, physical_host, muster, "
                    "stack, scope) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                    report.setup, report.context, report.benchmark, report.profile,
                    report.physical_host, report.muster, report.stack, scope);
  };
  return entry_id(setups_, report.setup, "SELECT id FROM setup WHERE sum = ?", insert);
}

Result<std::int64_t> Importer::layout_id(const Layout& layout) {
  const auto insert = [&]() -> Result<std::int64_t> {
    TRY(database_.run("INSERT INTO layout(sum) VALUES(?)", layout.sum));
    const auto id = database_.last_id();
    int place = 0;
    for (const auto& each : layout.positions) {
      TRY(database_.run("INSERT INTO position VALUES(?, ?, ?, ?, ?, ?)", id, place++, each.quantity,
                        each.device, each.unit, each.conditions));
    }
    return id;
  };
  return entry_id(layouts_, layout.sum, "SELECT id FROM layout WHERE sum = ?", insert);
}

Result<std::optional<std::int64_t>> Importer::fitting_id(const Fitting& fitting) {
  if (fitting.parts.empty()) return std::nullopt;
  return entry_id(fittings_, fitting.sum, "SELECT id FROM fitting WHERE sum = ?",
                  [&] {
                    std::string parts;
                    JsonWriter(parts, kLongestName).write(fitting.parts);
                    return inserted(database_, "INSERT INTO fitting(sum, parts) VALUES(?, ?)",
                                    fitting.sum, parts);
                  })
      .map([](std::int64_t id) { return std::optional(id); });
}

Result<std::optional<std::int64_t>> Importer::boot_id(KnownNode& node, const std::string& boot) {
  if (boot.empty()) return std::nullopt;
  if (node.boot != boot) {
    TRY_ASSIGN(auto id, database_.whole("SELECT id FROM boot WHERE node = ? AND boot_id = ?",
                                        node.id, boot));
    if (!id) {
      TRY_ASSIGN(
          id, inserted(database_, "INSERT INTO boot(node, boot_id) VALUES(?, ?)", node.id, boot));
    }
    node.boot = boot;
    node.boot_id = *id;
  }
  return node.boot_id;
}

Result<std::optional<std::int64_t>> Importer::run_id(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const auto found = runs_.find(name);
  if (found != runs_.end()) return found->second;
  TRY(database_.run("INSERT OR IGNORE INTO run(kind, name) VALUES('accept', ?)", name));
  TRY_ASSIGN(const auto id,
             database_.whole("SELECT id FROM run WHERE kind = 'accept' AND name = ?", name));
  return runs_[name] = *id;
}

Result<void> Importer::add_record(const Nothing& /*record*/, const NamedDocument& /*document*/) {
  return {};
}

Result<void> Importer::add_record(const NodeReport& report, const NamedDocument& document) {
  TRY_ASSIGN(auto* const node, node_of(report.node));
  TRY_ASSIGN(const auto boot, boot_id(*node, report.boot_id));
  TRY_ASSIGN(const auto setup, setup_id(report));
  TRY_ASSIGN(const auto fitting, fitting_id(report.fitting));
  TRY_ASSIGN(const auto run, run_id(document.run));
  const auto found = report.found.empty() ? std::nullopt : std::optional(report.found);
  TRY(database_.run("INSERT OR IGNORE INTO report VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", node->id,
                    report.at, report.sum, boot, setup, fitting, run, report.verdict, found));
  if (!database_.has_changed()) {
    ++counts_.known;
  } else {
    ++counts_.reports;
    TRY(touch(*node, report.at));
  }
  if (!report.values.layout) return {};
  TRY_ASSIGN(const auto layout, layout_id(*report.values.layout));
  return database_.run("INSERT OR IGNORE INTO reading VALUES(?, ?, ?, ?, ?)", report.at, node->id,
                       report.sum, layout, Blob{report.values.bytes});
}

Result<void> Importer::add_record(const RunRecord& run, const NamedDocument& /*document*/) {
  std::optional<std::int64_t> layout;
  if (run.values.layout) {
    TRY_ASSIGN(layout, layout_id(*run.values.layout));
  }
  return database_.run(
      "INSERT INTO run(kind, name, at, verdict, nodes, layout, vals) VALUES(?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT(kind, name) DO UPDATE SET at = excluded.at, verdict = excluded.verdict, "
      "nodes = excluded.nodes, layout = excluded.layout, vals = excluded.vals",
      run.kind, run.name, run.at, run.verdict, run.nodes, layout, Blob{run.values.bytes});
}

Result<void> Importer::add_record(const EventRecord& event, const NamedDocument& /*document*/) {
  TRY_ASSIGN(const auto node, node_id(event.node));
  TRY(database_.run("INSERT OR IGNORE INTO event VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", node,
                    event.at, event.sum, event.kind, event.context, event.job, event.check,
                    event.device, event.message, event.reason, event.boot_id));
  ++(database_.has_changed() ? counts_.events : counts_.known);
  return {};
}

Result<void> Importer::add_record(const SnapshotRecord& snapshot, const NamedDocument& document) {
  const auto& report = snapshot.report;
  TRY(add_record(report, document));
  constexpr std::int64_t kWeek_s = 7 * 86'400;
  TRY_ASSIGN(auto* const node, node_of(report.node));
  TRY_ASSIGN(const auto boot, boot_id(*node, report.boot_id));
  TRY_ASSIGN(const auto fitting, fitting_id(report.fitting));
  TRY(
      database_.run("INSERT INTO snapshot VALUES(?, ?, ?, ?, ?, ?, ?, ?) "
                    "ON CONFLICT(node, week, boot, fitting, verdict) DO UPDATE SET at = "
                    "excluded.at, sum = excluded.sum, "
                    "document = excluded.document "
                    "WHERE (excluded.at, excluded.sum) < (at, sum)",
                    node->id, report.at, report.at / kWeek_s, boot.value_or(0), fitting.value_or(0),
                    report.verdict, report.sum, Blob{snapshot.document}));
  if (database_.has_changed()) ++counts_.snapshots;
  return {};
}

Result<void> Importer::refuse(const NamedDocument& document, std::string_view why) {
  ++counts_.refused;
  const auto name = printable(document.name);
  if (counts_.complaints.size() < kMaxComplaints) {
    counts_.complaints.push_back(fmt::format("{}: {}", name, printable(why)));
  }
  const auto kept = std::string_view(document.text).substr(0, kLargestRefused);
  return database_.run("INSERT OR REPLACE INTO refused VALUES(?, ?, ?, ?)", sum_of(document.text),
                       name, printable(why), Blob{compressed(kept)});
}

Result<void> Importer::add(const ParsedDocument& parsed) {
  ++counts_.documents;
  if (!parsed.records) return refuse(parsed.document, parsed.records.error().message);
  for (const auto& record : *parsed.records) {
    TRY(std::visit([&](const auto& each) { return add_record(each, parsed.document); }, record));
  }
  return {};
}

}  // namespace muster::fleet
