// SPDX-License-Identifier: Apache-2.0
#include "slurm/history/history.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/base/text.hpp"
#include "slurm/history/history_database.hpp"
#include "slurm/history/history_file.hpp"

namespace muster::slurm {
namespace {

constexpr std::int64_t kPruneEvery = 256;  // events
constexpr std::size_t kMostBoots = 16;

Result<void> prune(Connection& connection, std::int64_t newest) {
  auto events =
      connection.prepare("DELETE FROM events WHERE id <= ?").bind(newest - kMostRows).run();
  if (!events) return events;
  return connection
      .prepare(
          "DELETE FROM drains WHERE ended IS NOT NULL "
          "AND id <= (SELECT max(id) FROM drains) - ?")
      .bind(kMostRows)
      .run();
}

Event event_of(const Statement& row) {
  return {.id = row.number(0),
          .at = to_time(row.number(1)),
          .node = row.text(2),
          .kind = row.text(3),
          .context = row.text(4),
          .job = row.text(5),
          .check = row.text(6),
          .device = row.text(7),
          .message = row.text(8),
          .reason = row.text(9),
          .boot_id = row.text(10)};
}

std::vector<std::string> boots_of(const std::string& text) {
  std::vector<std::string> boots;
  if (text.empty()) return boots;
  for (const auto boot : split(text, '\n')) boots.emplace_back(boot);
  return boots;
}

// Changes the record of one drain and no other; `changes` and `also` are constants. What they have
// to be bound comes before and after the drain.
Statement update_of_drain(Connection& connection,
                          std::string_view changes,
                          std::string_view also = "") {
  const auto sql = fmt::format(
      "UPDATE drains SET {} WHERE node = ? AND ended IS NULL AND at = ? AND reason = ?{}",
      changes,
      also);
  return connection.prepare(sql.c_str());
}

Statement& bind_drain(Statement& statement, std::string_view node, const OwnDrain& drain) {
  return statement.bind(node).bind(to_number(drain.at)).bind(drain.reason);
}

// Whether Slurm was asked in the boot that the history knows. A file of its own, because one can be
// removed from a full disk, or while somebody else has the database.
std::filesystem::path asked_beside(const std::filesystem::path& file) {
  return fmt::format("{}.asked", file.string());
}

bool selects(const std::set<std::string_view>& some, const std::string& one) {
  return some.empty() || some.contains(one);
}

}  // namespace

History::History(std::unique_ptr<Database> database) : database_(std::move(database)) {}

History::History(History&& other) noexcept = default;
History& History::operator=(History&& other) noexcept = default;
History::~History() = default;

Result<History> History::open(const std::filesystem::path& file) {
  auto opened = open_history_file(file);
  if (!opened) return tl::unexpected(opened.error());
  return History(std::make_unique<Database>(
      Database{std::move(opened->connection), std::move(opened->note), file}));
}

Result<History> History::read(const std::filesystem::path& file) {
  auto opened = read_history_file(file, Connection::Access::read);
  if (!opened) return tl::unexpected(opened.error());
  return History(std::make_unique<Database>(Database{std::move(*opened), {}, file}));
}

Result<History> History::peek(const std::filesystem::path& file) {
  auto opened = read_history_file(file, Connection::Access::peek);
  if (!opened) return tl::unexpected(opened.error());
  return History(std::make_unique<Database>(Database{std::move(*opened), {}, file}));
}

const std::string& History::note() const { return database_->note; }

Result<void> insert_event(Connection& connection, const Event& event) {
  auto added = connection
                   .prepare(
                       "INSERT INTO events (at, node, kind, context, job, check_id, device, "
                       "message, reason, boot_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
                   .bind(to_number(event.at))
                   .bind(event.node)
                   .bind(event.kind)
                   .bind(event.context)
                   .bind(event.job)
                   .bind(event.check)
                   .bind(event.device)
                   .bind(event.message)
                   .bind(event.reason)
                   .bind(event.boot_id)
                   .run();
  if (!added) return added;
  const auto id = connection.ask_number("SELECT last_insert_rowid()");
  if (!id) return tl::unexpected(id.error());
  if (*id % kPruneEvery != 0) return {};
  return prune(connection, *id);
}

Result<void> History::add(const Event& event) {
  auto& connection = database_->connection;
  return in_transaction(connection, [&] { return insert_event(connection, event); });
}

Result<std::vector<Event>> History::events(const EventFilter& filter) const {
  const std::set<std::string_view> nodes(filter.nodes.begin(), filter.nodes.end());
  const std::set<std::string_view> kinds(filter.kinds.begin(), filter.kinds.end());
  auto rows = database_->connection.prepare(
      "SELECT id, at, node, kind, context, job, check_id, device, message, reason, boot_id "
      "FROM events WHERE id > ? AND at >= ? ORDER BY id DESC");
  rows.bind(filter.after_id)
      .bind(filter.since ? to_number(*filter.since) : std::numeric_limits<std::int64_t>::min());
  std::vector<Event> found;
  while (filter.most == 0 || found.size() < filter.most) {
    const auto row = rows.step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) break;
    Event event = event_of(rows);
    if (selects(nodes, event.node) && selects(kinds, event.kind)) {
      found.push_back(std::move(event));
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

Result<std::optional<OwnDrain>> History::drain_of(std::string_view node) const {
  auto rows = database_->connection.prepare(
      "SELECT reason, at, confirmed, boot_id, identity, check_id, remedy, clean_runs, boots_since, "
      "resuming FROM drains WHERE node = ? AND ended IS NULL");
  const auto row = rows.bind(node).step();
  if (!row) return tl::unexpected(row.error());
  if (!*row) return std::nullopt;
  // A word that is not known is taken for the remedy after which nothing is resumed by itself.
  const auto remedy = parse_remedy(rows.text(6)).value_or(Remedy::reseat_or_replace);
  return OwnDrain{.reason = rows.text(0),
                  .at = to_time(rows.number(1)),
                  .confirmed = rows.number(2) != 0,
                  .boot_id = rows.text(3),
                  .identity = rows.text(4),
                  .check = rows.text(5),
                  .remedy = remedy,
                  .clean_runs = static_cast<int>(rows.number(7)),
                  .boots_since = boots_of(rows.text(8)),
                  .resuming = rows.number(9) != 0};
}

Result<std::vector<Time>> History::drains_of(std::string_view node) const {
  auto rows = database_->connection.prepare(
      "SELECT at FROM drains WHERE node = ? AND counts = 1 ORDER BY id");
  rows.bind(node);
  std::vector<Time> times;
  for (;;) {
    const auto row = rows.step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return times;
    times.push_back(to_time(rows.number(0)));
  }
}

Result<bool> History::begin_drain(std::string_view node,
                                  const OwnDrain& drain,
                                  const std::optional<OwnDrain>& last) {
  auto& connection = database_->connection;
  bool begun = false;
  auto done = in_transaction(connection, [&]() -> Result<void> {
    const auto open = drain_of(node);
    if (!open) return tl::unexpected(open.error());
    if (open->has_value() != last.has_value()) return {};
    if (last && ((*open)->at != last->at || (*open)->reason != last->reason)) return {};
    // One that nobody ever saw in Slurm is no flap.
    auto ended = connection
                     .prepare(
                         "UPDATE drains SET ended = ?, counts = min(counts, confirmed) "
                         "WHERE node = ? AND ended IS NULL")
                     .bind(to_number(drain.at))
                     .bind(node)
                     .run();
    if (!ended) return ended;
    begun = true;
    return connection
        .prepare(
            "INSERT INTO drains (node, reason, at, confirmed, boot_id, identity, check_id, remedy, "
            "clean_runs, boots_since, resuming) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(node)
        .bind(drain.reason)
        .bind(to_number(drain.at))
        .bind(std::int64_t{drain.confirmed ? 1 : 0})
        .bind(drain.boot_id)
        .bind(drain.identity)
        .bind(drain.check)
        .bind(to_string(drain.remedy))
        .bind(std::int64_t{drain.clean_runs})
        .bind(fmt::format("{}", fmt::join(drain.boots_since, "\n")))
        .bind(std::int64_t{drain.resuming ? 1 : 0})
        .run();
  });
  if (!done) return tl::unexpected(done.error());
  return begun;
}

Result<void> History::confirm_drain(std::string_view node, const OwnDrain& drain) {
  auto update = update_of_drain(database_->connection, "confirmed = 1");
  return bind_drain(update, node, drain).run();
}

Result<void> History::note_run(std::string_view node,
                               const OwnDrain& drain,
                               bool clean,
                               std::string_view boot) {
  auto& connection = database_->connection;
  return in_transaction(connection, [&]() -> Result<void> {
    const auto open = drain_of(node);
    if (!open) return tl::unexpected(open.error());
    if (!*open) return {};
    auto boots = (*open)->boots_since;
    const auto& last = boots.empty() ? (*open)->boot_id : boots.back();
    if (!boot.empty() && boot != last) boots.emplace_back(boot);
    if (boots.size() > kMostBoots) boots.erase(boots.begin());
    auto update = update_of_drain(
        connection, "clean_runs = (clean_runs + 1) * ?, resuming = resuming * ?, boots_since = ?");
    update.bind(std::int64_t{clean ? 1 : 0})
        .bind(std::int64_t{clean ? 1 : 0})
        .bind(fmt::format("{}", fmt::join(boots, "\n")));
    return bind_drain(update, node, drain).run();
  });
}

Result<void> History::worsen_drain(std::string_view node,
                                   const OwnDrain& drain,
                                   const OwnDrain& worse) {
  auto update =
      update_of_drain(database_->connection, "check_id = ?, remedy = ?, boot_id = ?, reason = ?");
  update.bind(worse.check).bind(to_string(worse.remedy)).bind(worse.boot_id).bind(worse.reason);
  return bind_drain(update, node, drain).run();
}

Result<bool> History::begin_resume(std::string_view node, const OwnDrain& drain) {
  auto& connection = database_->connection;
  bool begun = false;
  auto done = in_transaction(connection, [&]() -> Result<void> {
    auto update =
        update_of_drain(connection, "resuming = 1", " AND remedy = ? AND clean_runs >= ?");
    auto marked = bind_drain(update, node, drain)
                      .bind(to_string(drain.remedy))
                      .bind(std::int64_t{drain.clean_runs})
                      .run();
    if (!marked) return marked;
    const auto changed = connection.ask_number("SELECT changes()");
    if (!changed) return tl::unexpected(changed.error());
    begun = *changed == 1;
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return begun;
}

Result<void> History::cancel_resume(std::string_view node, const OwnDrain& drain) {
  auto update = update_of_drain(database_->connection, "resuming = 0");
  return bind_drain(update, node, drain).run();
}

Result<void> History::end_drain(std::string_view node, const OwnDrain& drain, Time at) {
  auto update = update_of_drain(database_->connection, "ended = ?");
  update.bind(to_number(at));
  return bind_drain(update, node, drain).run();
}

Result<void> History::forget_flaps(std::string_view node) {
  return database_->connection
      .prepare("UPDATE drains SET counts = 0 WHERE node = ? AND ended IS NOT NULL")
      .bind(node)
      .run();
}

Result<void> History::cancel_drain(std::string_view node, const OwnDrain& drain, Time at) {
  auto update = update_of_drain(database_->connection, "ended = ?, counts = 0");
  update.bind(to_number(at));
  return bind_drain(update, node, drain).run();
}

Result<std::string> History::boot_of(std::string_view node) const {
  std::error_code ignored;  // what cannot be looked at is not there
  if (!std::filesystem::is_regular_file(asked_beside(database_->file), ignored)) return "";
  auto rows = database_->connection.prepare("SELECT boot_id FROM boots WHERE node = ?");
  const auto row = rows.bind(node).step();
  if (!row) return tl::unexpected(row.error());
  return *row ? rows.text(0) : "";
}

Result<bool> History::knows(std::string_view node) const {
  auto rows = database_->connection.prepare("SELECT boot_id FROM boots WHERE node = ?");
  return rows.bind(node).step();
}

Result<void> History::note_boot(std::string_view node, std::string_view boot) {
  auto noted =
      database_->connection.prepare("INSERT OR REPLACE INTO boots (node, boot_id) VALUES (?, ?)")
          .bind(node)
          .bind(boot)
          .run();
  if (!noted) return noted;
  const auto file = asked_beside(database_->file);
  const Descriptor made(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (made.is_open()) return {};
  return make_error(
      fmt::format("create {}: {}", file.string(), std::generic_category().message(errno)));
}

void History::forget_boots(const std::filesystem::path& file) {
  static_cast<void>(::unlink(asked_beside(file).c_str()));
}

}  // namespace muster::slurm
