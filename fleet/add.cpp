// SPDX-License-Identifier: Apache-2.0
// `muster fleet add`: parses documents on several threads and writes them on this one.
#include "fleet/add.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <future>
#include <thread>
#include <utility>

#include "fleet/ask.hpp"
#include "fleet/fleet_command.hpp"
#include "fleet/intervals.hpp"
#include "fleet/sources.hpp"
#include "fleet/store.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"

namespace muster::fleet {
namespace {

using Batch = std::vector<ParsedDocument>;

Batch parse(std::vector<NamedDocument> documents, const JudgeSnapshot& judge) {
  Batch batch;
  batch.reserve(documents.size());
  for (auto& document : documents) {
    auto records = parse_document(document.text, judge);
    if (records) document.text.clear();
    batch.push_back({std::move(document), std::move(records)});
  }
  return batch;
}

}  // namespace

Result<void> import_documents(Database& database, Importer& importer, DocumentSource& source,
                              const JudgeSnapshot& judge) {
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::deque<std::future<Batch>> pending;
  for (bool more = true; more || !pending.empty();) {
    while (more && pending.size() <= threads) {
      TRY_ASSIGN(auto documents, source.next());
      more = !documents.empty();
      if (!more) break;
      pending.push_back(std::async(std::launch::async, parse, std::move(documents), judge));
    }
    if (pending.empty()) break;
    const auto batch = pending.front().get();
    pending.pop_front();
    TRY(in_transaction(database, [&]() -> Result<void> {
      for (const auto& parsed : batch) TRY(importer.add(parsed));
      return {};
    }));
  }
  TRY_ASSIGN([[maybe_unused]] const auto renewed, renew_intervals(database));
  return {};
}

}  // namespace muster::fleet

namespace muster::app {
namespace {

using fleet::ImportCounts;

std::string summary(const ImportCounts& counts, std::size_t refused) {
  auto text = fmt::format("{}: {} added", counted(counts.documents, "document"),
                          counted(counts.reports, "report"));
  if (counts.events > 0) text += fmt::format(", {}", counted(counts.events, "event"));
  if (counts.snapshots > 0) text += fmt::format(", {} kept", counted(counts.snapshots, "snapshot"));
  if (counts.known > 0) text += fmt::format(", {} known", counts.known);
  if (refused > 0) text += fmt::format(", {} refused", refused);
  return fmt::format("{}\n", text);
}

Result<std::string> add_slurm(const FleetCommand& command, fleet::Database& database,
                              fleet::Importer& importer, const fleet::CallSlurm& call) {
  constexpr std::int64_t kUsual_s = 30L * 86'400;
  const auto since =
      fleet::since_time(command).value_or(wall_time().time_since_epoch().count() - kUsual_s);
  auto counts = fleet::import_slurm(database, importer, since, call);
  if (!counts) {
    return make_error(fmt::format("nothing of Slurm was imported: {}", counts.error().message));
  }
  TRY_ASSIGN([[maybe_unused]] const auto renewed, fleet::renew_intervals(database));
  return fmt::format("Slurm: {}, {}\n", counted(counts->outages, "outage"),
                     counted(counts->jobs, "job"));
}

}  // namespace

int run_fleet_add(const FleetCommand& command, const Caller& caller, const FleetTools& tools) {
  auto store = fleet::Store::open_to_write(command.store);
  if (!store) return fail(caller, store.error());
  fleet::Importer importer(store->database(), command.cluster);
  fleet::DocumentSource source(command.words);
  const auto imported = fleet::import_documents(store->database(), importer, source, tools.judge);
  const auto& counts = importer.counts();
  for (const auto& complaint : counts.complaints) {
    caller.console.note(fmt::format("muster: {}", complaint));
  }
  if (counts.refused > counts.complaints.size()) {
    caller.console.note(fmt::format("muster: {} more refused: see the table `refused` of {}",
                                    counts.refused - counts.complaints.size(),
                                    printable(command.store)));
  }
  for (const auto& each : source.unreadable()) {
    caller.console.note(fmt::format("muster: read {}: {}", printable(each.name), each.why));
  }
  if (!imported) return fail(caller, undecided(imported.error()).value());
  const auto refused = counts.refused + source.unreadable().size();
  auto text = command.words.empty() ? std::string() : summary(counts, refused);
  if (command.slurm) {
    const auto added = add_slurm(command, store->database(), importer, tools.call_slurm);
    if (!added) return fail(caller, undecided(added.error()).value());
    text += *added;
  }
  return deliver(caller, "", text, refused > 0 ? kExitUndecided : kExitHealthy);
}

}  // namespace muster::app
