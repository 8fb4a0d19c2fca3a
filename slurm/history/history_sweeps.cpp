// SPDX-License-Identifier: Apache-2.0
// The runs of sweeps in the history.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/history/history_database.hpp"

namespace muster::slurm {
namespace {

SweepRun run_of(const Statement& row) {
  SweepRun run{.id = row.number(0),
               .kind = row.text(1),
               .partition = row.text(2),
               .nodes = {},
               .token = row.text(4),
               .job = row.text(5),
               .submitted = to_time(row.number(6)),
               .ended = to_time(row.number(7)),
               .outcome = parse_sweep_outcome(row.text(8))};
  const auto nodes = row.text(3);
  for (const auto node : split(nodes, ' ')) run.nodes.emplace_back(node);
  return run;
}

Result<void> insert_sweep(Connection& connection, const SweepRun& run) {
  return connection
      .prepare(
          "INSERT INTO sweeps (kind, partition, nodes, token, job, submitted, ended, outcome) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(run.kind)
      .bind(run.partition)
      .bind(fmt::format("{}", fmt::join(run.nodes, " ")))
      .bind(run.token)
      .bind(run.job)
      .bind(to_number(run.submitted))
      .bind(to_number(run.ended))
      .bind(to_string(run.outcome))
      .run();
}

}  // namespace

Result<std::int64_t> History::begin_sweep(const SweepRun& run) {
  auto& connection = database_->connection;
  std::int64_t id = 0;
  auto done = in_transaction(connection, [&]() -> Result<void> {
    auto old = connection.prepare("DELETE FROM sweeps WHERE id <= (SELECT max(id) FROM sweeps) - ?")
                   .bind(kMostRows)
                   .run();
    if (!old) return old;
    if (auto added = insert_sweep(connection, run); !added) return added;
    const auto last = connection.ask_number("SELECT last_insert_rowid()");
    if (!last) return tl::unexpected(last.error());
    id = *last;
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return id;
}

Result<void> History::note_sweep_job(std::int64_t id, std::string_view job) {
  return database_->connection.prepare("UPDATE sweeps SET job = ? WHERE id = ?")
      .bind(job)
      .bind(id)
      .run();
}

Result<void> History::end_sweep(const SweepRun& run,
                                const std::vector<Event>& events,
                                const std::vector<SweepRun>& further) {
  auto& connection = database_->connection;
  return in_transaction(connection, [&]() -> Result<void> {
    auto ended =
        connection.prepare("UPDATE sweeps SET nodes = ?, ended = ?, outcome = ? WHERE id = ?")
            .bind(fmt::format("{}", fmt::join(run.nodes, " ")))
            .bind(to_number(run.ended))
            .bind(to_string(run.outcome))
            .bind(run.id)
            .run();
    for (const auto& each : further) {
      if (!ended) return ended;
      ended = insert_sweep(connection, each);
    }
    for (const auto& event : events) {
      if (!ended) return ended;
      ended = insert_event(connection, event);
    }
    return ended;
  });
}

Result<std::vector<SweepRun>> History::sweeps() const {
  auto& connection = database_->connection;
  // A file that was not written since an older muster has none.
  const auto tables =
      connection.ask_number("SELECT count(*) FROM sqlite_master WHERE name = 'sweeps'");
  if (!tables) return tl::unexpected(tables.error());
  std::vector<SweepRun> runs;
  if (*tables == 0) return runs;
  auto rows = connection.prepare(
      "SELECT id, kind, partition, nodes, token, job, submitted, ended, outcome FROM sweeps "
      "ORDER BY outcome = 'open', ended, id");
  for (;;) {
    const auto row = rows.step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return runs;
    runs.push_back(run_of(rows));
  }
}

}  // namespace muster::slurm
