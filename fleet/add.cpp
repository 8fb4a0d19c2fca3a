// SPDX-License-Identifier: Apache-2.0
// `muster fleet add`: parses documents on several threads and writes them on this one.
#include "fleet/add.hpp"

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <future>
#include <thread>
#include <utility>
#include <vector>

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

// Reads the next documents on one thread and parses earlier ones on others, ahead of the caller,
// which gets them in the order of the source.
class BatchesAhead {
 public:
  BatchesAhead(DocumentSource& source, const JudgeSnapshot& judge)
      : source_(source), judge_(judge) {
    read_ahead();
  }

  // Returns an empty batch at the end, after which it must not be called again.
  [[nodiscard]] Batch next() {
    while (reading_.valid() && parsing_.size() <= std::thread::hardware_concurrency()) {
      auto documents = reading_.get();
      if (!documents.empty()) read_ahead();
      parsing_.push_back(
          std::async(std::launch::async, parse, std::move(documents), std::cref(judge_)));
    }
    auto batch = parsing_.front().get();
    parsing_.pop_front();
    return batch;
  }

 private:
  void read_ahead() {
    reading_ = std::async(std::launch::async, [this] { return source_.next(); });
  }

  DocumentSource& source_;
  const JudgeSnapshot& judge_;
  std::future<std::vector<NamedDocument>> reading_;  // none after the end
  std::deque<std::future<Batch>> parsing_;
};

}  // namespace

Result<void> import_documents(Database& database, Importer& importer, DocumentSource& source,
                              const JudgeSnapshot& judge) {
  // A large transaction fills a node's database pages with the reports of several days.
  constexpr int kBatchesAtOnce = 256;
  BatchesAhead batches(source, judge);
  bool more = true;
  const auto add_some = [&]() -> Result<void> {
    for (int i = 0; i < kBatchesAtOnce && more; ++i) {
      const auto batch = batches.next();
      for (const auto& parsed : batch) TRY(importer.add(parsed));
      more = !batch.empty();
    }
    return {};
  };
  while (more) TRY(in_transaction(database, add_some));
  TRY_ASSIGN([[maybe_unused]] const auto renewed, renew_intervals(database));
  return {};
}

}  // namespace muster::fleet

namespace muster::app {
namespace {

using fleet::ImportCounts;

std::string summary(const ImportCounts& counts, std::size_t documents, std::size_t refused) {
  auto text = fmt::format("{}: {} added", counted(documents, "document"),
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
    return make_error(fmt::format("no Slurm records were imported: {}", counts.error().message));
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
  const auto unreadable = source.unreadable().size();
  const auto refused = counts.refused + unreadable;
  auto text = command.words.empty() ? std::string()
                                    : summary(counts, counts.documents + unreadable, refused);
  if (command.slurm) {
    const auto added = add_slurm(command, store->database(), importer, tools.call_slurm);
    if (!added) return fail(caller, undecided(added.error()).value());
    text += *added;
  }
  return deliver(caller, "", text, refused > 0 ? kExitUndecided : kExitHealthy);
}

}  // namespace muster::app
