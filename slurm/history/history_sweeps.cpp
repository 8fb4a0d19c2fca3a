// SPDX-License-Identifier: Apache-2.0
// The runs of sweeps in the history.
#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "slurm/history/history.hpp"
#include "slurm/history/history_file.hpp"

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
  return connection.run(
      "INSERT INTO sweeps (kind, partition, nodes, token, job, submitted, ended, outcome) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      run.kind, run.partition, fmt::format("{}", fmt::join(run.nodes, " ")), run.token, run.job,
      to_number(run.submitted), to_number(run.ended), to_string(run.outcome));
}

}  // namespace

Result<std::int64_t> History::begin_sweep(const SweepRun& run) {
  auto& connection = file_->connection;
  return in_transaction(connection, [&]() -> Result<std::int64_t> {
    TRY(connection.run("DELETE FROM sweeps WHERE id <= (SELECT max(id) FROM sweeps) - ?",
                       kMostRows));
    if (auto added = insert_sweep(connection, run); !added) return tl::unexpected(added.error());
    return connection.ask_number("SELECT last_insert_rowid()");
  });
}

Result<void> History::note_sweep_job(std::int64_t id, std::string_view job) {
  return file_->connection.run("UPDATE sweeps SET job = ? WHERE id = ?", job, id);
}

Result<void> History::end_sweep(const SweepRun& run, const std::vector<Event>& events,
                                const std::vector<SweepRun>& further) {
  auto& connection = file_->connection;
  return in_transaction(connection, [&]() -> Result<void> {
    auto ended = connection.run("UPDATE sweeps SET nodes = ?, ended = ?, outcome = ? WHERE id = ?",
                                fmt::format("{}", fmt::join(run.nodes, " ")), to_number(run.ended),
                                to_string(run.outcome), run.id);
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
  auto& connection = file_->connection;
  // A file that was not written since an older muster has none.
  const auto tables =
      connection.ask_number("SELECT count(*) FROM sqlite_master WHERE name = 'sweeps'");
  if (!tables) return tl::unexpected(tables.error());
  if (*tables == 0) return std::vector<SweepRun>();
  return connection
      .prepare(
          "SELECT id, kind, partition, nodes, token, job, submitted, ended, outcome FROM sweeps "
          "ORDER BY outcome = 'open', ended, id")
      .rows(run_of);
}

}  // namespace muster::slurm
