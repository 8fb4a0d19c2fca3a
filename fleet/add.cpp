// SPDX-License-Identifier: Apache-2.0
// `muster fleet add`: parses documents on several threads and writes them on this one.
#include "fleet/add.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
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

// Reads and parses batches of documents on threads, some ahead of the caller, which gets them in
// the order of the source.
class BatchesAhead {
 public:
  BatchesAhead(DocumentSource& source, const JudgeSnapshot& judge)
      : source_(source), judge_(judge) {
    const auto count = std::max(1U, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this] { parse_ahead(); });
  }

  ~BatchesAhead() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  BatchesAhead(const BatchesAhead&) = delete;
  BatchesAhead& operator=(const BatchesAhead&) = delete;

  // Returns an empty batch at the end, after which it must not be called again.
  [[nodiscard]] Batch next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ahead_.empty() && ahead_.front(); });
    auto batch = *std::move(ahead_.front());
    ahead_.pop_front();
    changed_.notify_all();
    return batch;
  }

 private:
  using Place = std::optional<Batch>;  // empty while the batch is being parsed

  void parse_ahead() {
    for (;;) {
      std::vector<NamedDocument> documents;
      Place* const place = read(documents);
      if (place == nullptr) return;
      auto batch = parse(std::move(documents), judge_);
      const std::lock_guard lock(mutex_);
      *place = std::move(batch);
      changed_.notify_all();
    }
  }

  // Returns where the batch of the documents belongs; null after the end.
  [[nodiscard]] Place* read(std::vector<NamedDocument>& documents) {
    constexpr std::size_t kMostAhead = 64;
    const std::lock_guard reading(reading_);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || ahead_.size() < kMostAhead; });
    if (ended_) return nullptr;
    lock.unlock();
    documents = source_.next();
    lock.lock();
    if (documents.empty()) ended_ = true;
    return &ahead_.emplace_back();
  }

  DocumentSource& source_;
  const JudgeSnapshot& judge_;
  std::mutex reading_, mutex_;
  std::condition_variable changed_;
  std::deque<Place> ahead_;
  bool ended_ = false;
  std::vector<std::jthread> threads_;  // joined first
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
