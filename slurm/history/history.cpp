// SPDX-License-Identifier: Apache-2.0
#include "slurm/history/history.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"
#include "lib/base/text.hpp"
#include "slurm/history/history_file.hpp"

namespace muster::slurm {
namespace {

constexpr std::int64_t kPruneEvery = 256;  // events
constexpr std::size_t kMostBoots = 16;

// The texts of an event, in the order of their columns, which stand behind its id and its time.
constexpr std::array kTexts{&Event::node,    &Event::kind,   &Event::context,
                            &Event::job,     &Event::check,  &Event::device,
                            &Event::message, &Event::reason, &Event::boot_id};

Result<void> prune(Connection& connection, std::int64_t newest) {
  auto events = connection.run("DELETE FROM events WHERE id <= ?", newest - kMostRows);
  if (!events) return events;
  return connection.run(
      "DELETE FROM drains WHERE ended IS NOT NULL AND id <= (SELECT max(id) FROM drains) - ?",
      kMostRows);
}

Event event_of(const Statement& row) {
  Event event{.id = row.number(0), .at = to_time(row.number(1))};
  int column = 2;
  for (const auto text : kTexts) event.*text = row.text(column++);
  return event;
}

std::vector<std::string> boots_of(const std::string& text) {
  std::vector<std::string> boots;
  if (text.empty()) return boots;
  for (const auto boot : split(text, '\n')) boots.emplace_back(boot);
  return boots;
}

// The record of one drain.
struct Record {
  Connection& connection;
  std::string_view node;
  const OwnDrain& drain;

  // Changes it and no other. `changes` is a constant, and has `values` bound.
  template <class... Values>
  [[nodiscard]] Result<void> set(std::string_view changes, const Values&... values) const {
    const auto sql = fmt::format(
        "UPDATE drains SET {} WHERE node = ? AND ended IS NULL AND at = ? AND reason = ?", changes);
    return connection.run(sql.c_str(), values..., node, to_number(drain.at), drain.reason);
  }
};

// Whether Slurm was asked in the boot that the history knows. A file of its own, because one can be
// removed from a full disk, or while somebody else has the database.
std::filesystem::path asked_beside(const std::filesystem::path& file) {
  return fmt::format("{}.asked", file.string());
}

bool selects(const std::set<std::string_view>& some, const std::string& one) {
  return some.empty() || some.contains(one);
}

}  // namespace

History::History(HistoryFile&& file) : file_(std::make_unique<HistoryFile>(std::move(file))) {}

History::History(History&& other) noexcept = default;
History& History::operator=(History&& other) noexcept = default;
History::~History() = default;

Result<History> History::from(Result<HistoryFile> file) {
  if (!file) return tl::unexpected(file.error());
  return History(*std::move(file));
}

Result<History> History::open(const std::filesystem::path& file) {
  return from(open_history_file(file));
}

Result<History> History::read(const std::filesystem::path& file) {
  return from(read_history_file(file, Connection::Access::read));
}

Result<History> History::peek(const std::filesystem::path& file) {
  return from(read_history_file(file, Connection::Access::peek));
}

const std::string& History::note() const { return file_->note; }

Result<void> insert_event(Connection& connection, const Event& event) {
  auto insert = connection.prepare(
      "INSERT INTO events (at, node, kind, context, job, check_id, device, message, reason, "
      "boot_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(to_number(event.at));
  for (const auto text : kTexts) insert.bind(event.*text);
  if (auto added = insert.run(); !added) return added;
  TRY_ASSIGN(const auto id, connection.ask_number("SELECT last_insert_rowid()"));
  if (id % kPruneEvery != 0) return {};
  return prune(connection, id);
}

Result<void> History::add(const Event& event) {
  auto& connection = file_->connection;
  return in_transaction(connection, [&] { return insert_event(connection, event); });
}

Result<std::vector<Event>> History::events(const EventFilter& filter) const {
  const std::set<std::string_view> nodes(filter.nodes.begin(), filter.nodes.end());
  const std::set<std::string_view> kinds(filter.kinds.begin(), filter.kinds.end());
  auto rows = file_->connection.prepare(
      "SELECT id, at, node, kind, context, job, check_id, device, message, reason, boot_id "
      "FROM events WHERE id > ? AND at >= ? ORDER BY id DESC");
  rows.bind(filter.after_id,
            filter.since ? to_number(*filter.since) : std::numeric_limits<std::int64_t>::min());
  std::vector<Event> found;
  while (filter.most == 0 || found.size() < filter.most) {
    TRY_ASSIGN(const auto row, rows.step());
    if (!row) break;
    Event event = event_of(rows);
    if (selects(nodes, event.node) && selects(kinds, event.kind)) {
      found.push_back(std::move(event));
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

Result<std::optional<OwnDrain>> History::drain_of(std::string_view node) const {
  auto rows = file_->connection.prepare(
      "SELECT reason, at, confirmed, boot_id, identity, check_id, remedy, clean_runs, boots_since, "
      "resuming FROM drains WHERE node = ? AND ended IS NULL");
  TRY_ASSIGN(const auto row, rows.bind(node).step());
  if (!row) return std::nullopt;
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
  return file_->connection
      .prepare("SELECT at FROM drains WHERE node = ? AND counts = 1 ORDER BY id")
      .bind(node)
      .rows([](const Statement& row) { return to_time(row.number(0)); });
}

Result<bool> History::begin_drain(std::string_view node, const OwnDrain& drain,
                                  const std::optional<OwnDrain>& last) {
  auto& connection = file_->connection;
  return in_transaction(connection, [&]() -> Result<bool> {
    TRY_ASSIGN(const auto open, drain_of(node));
    if (open.has_value() != last.has_value()) return false;
    if (last && ((open)->at != last->at || (open)->reason != last->reason)) return false;
    // One that nobody ever saw in Slurm is no flap.
    TRY(
        connection.run("UPDATE drains SET ended = ?, counts = min(counts, confirmed) "
                       "WHERE node = ? AND ended IS NULL",
                       to_number(drain.at), node));
    return connection
        .run(
            "INSERT INTO drains (node, reason, at, confirmed, boot_id, identity, check_id, remedy, "
            "clean_runs, boots_since, resuming) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            node, drain.reason, to_number(drain.at), drain.confirmed, drain.boot_id, drain.identity,
            drain.check, to_string(drain.remedy), drain.clean_runs,
            fmt::format("{}", fmt::join(drain.boots_since, "\n")), drain.resuming)
        .map([] { return true; });
  });
}

Result<void> History::confirm_drain(std::string_view node, const OwnDrain& drain) {
  return Record{file_->connection, node, drain}.set("confirmed = 1");
}

Result<void> History::note_run(std::string_view node, const OwnDrain& drain, bool clean,
                               std::string_view boot) {
  auto& connection = file_->connection;
  return in_transaction(connection, [&]() -> Result<void> {
    TRY_ASSIGN(const auto open, drain_of(node));
    if (!open) return {};
    auto boots = (open)->boots_since;
    const auto& last = boots.empty() ? (open)->boot_id : boots.back();
    if (!boot.empty() && boot != last) boots.emplace_back(boot);
    if (boots.size() > kMostBoots) boots.erase(boots.begin());
    return Record{connection, node, drain}.set(
        "clean_runs = (clean_runs + 1) * ?, resuming = resuming * ?, boots_since = ?", clean, clean,
        fmt::format("{}", fmt::join(boots, "\n")));
  });
}

Result<void> History::worsen_drain(std::string_view node, const OwnDrain& drain,
                                   const OwnDrain& worse) {
  return Record{file_->connection, node, drain}.set(
      "check_id = ?, remedy = ?, boot_id = ?, reason = ?", worse.check, to_string(worse.remedy),
      worse.boot_id, worse.reason);
}

Result<bool> History::begin_resume(std::string_view node, const OwnDrain& drain) {
  auto& connection = file_->connection;
  return in_transaction(connection, [&]() -> Result<bool> {
    TRY(connection.run(
        "UPDATE drains SET resuming = 1 WHERE node = ? AND ended IS NULL AND at = ? "
        "AND reason = ? AND remedy = ? AND clean_runs >= ?",
        node, to_number(drain.at), drain.reason, to_string(drain.remedy), drain.clean_runs));
    return connection.ask_number("SELECT changes()").map([](std::int64_t changed) {
      return changed == 1;
    });
  });
}

Result<void> History::cancel_resume(std::string_view node, const OwnDrain& drain) {
  return Record{file_->connection, node, drain}.set("resuming = 0");
}

Result<void> History::end_drain(std::string_view node, const OwnDrain& drain, Time at) {
  return Record{file_->connection, node, drain}.set("ended = ?", to_number(at));
}

Result<void> History::forget_flaps(std::string_view node) {
  return file_->connection.run("UPDATE drains SET counts = 0 WHERE node = ? AND ended IS NOT NULL",
                               node);
}

Result<void> History::cancel_drain(std::string_view node, const OwnDrain& drain, Time at) {
  return Record{file_->connection, node, drain}.set("ended = ?, counts = 0", to_number(at));
}

Result<std::string> History::boot_of(std::string_view node) const {
  std::error_code ignored;  // what cannot be looked at is not there
  if (!std::filesystem::is_regular_file(asked_beside(file_->path), ignored)) return "";
  auto rows = file_->connection.prepare("SELECT boot_id FROM boots WHERE node = ?");
  TRY_ASSIGN(const auto row, rows.bind(node).step());
  return row ? rows.text(0) : "";
}

Result<bool> History::knows(std::string_view node) const {
  auto rows = file_->connection.prepare("SELECT boot_id FROM boots WHERE node = ?");
  return rows.bind(node).step();
}

Result<void> History::note_boot(std::string_view node, std::string_view boot) {
  auto noted = file_->connection.run("INSERT OR REPLACE INTO boots (node, boot_id) VALUES (?, ?)",
                                     node, boot);
  if (!noted) return noted;
  const auto file = asked_beside(file_->path);
  const Descriptor made(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (made.is_open()) return {};
  return os_error("create", file.native(), errno);
}

void History::forget_boots(const std::filesystem::path& file) {
  static_cast<void>(::unlink(asked_beside(file).c_str()));
}

}  // namespace muster::slurm
