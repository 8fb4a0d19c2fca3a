// SPDX-License-Identifier: Apache-2.0
#include "slurm/history/history_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/base/ownership.hpp"
#include "lib/base/result.hpp"

namespace muster::slurm {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kApplication = 0x6d757374;  // "must"
constexpr std::int64_t kSchema = 3;

constexpr const char* kMakeBoots =
    "CREATE TABLE boots (node TEXT PRIMARY KEY, boot_id TEXT NOT NULL)";
constexpr const char* kMakeSweeps =
    "CREATE TABLE sweeps (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, "
    "partition TEXT NOT NULL, nodes TEXT NOT NULL, token TEXT NOT NULL, job TEXT NOT NULL, "
    "submitted INTEGER NOT NULL, ended INTEGER NOT NULL, outcome TEXT NOT NULL)";

// `counts`: among the drains by which flapping is told. `ended` is NULL until then. `boots`: the
// last one in which Slurm was asked about the node. `sweeps`: `nodes` has blanks between names, and
// `ended` means nothing while `outcome` is open.
constexpr std::array kMakeSchema = {
    "CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, "
    "node TEXT NOT NULL, kind TEXT NOT NULL, context TEXT NOT NULL, job TEXT NOT NULL, "
    "check_id TEXT NOT NULL, device TEXT NOT NULL, message TEXT NOT NULL, reason TEXT NOT NULL, "
    "boot_id TEXT NOT NULL)",
    "CREATE TABLE drains (id INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT NOT NULL, "
    "reason TEXT NOT NULL, at INTEGER NOT NULL, confirmed INTEGER NOT NULL, "
    "boot_id TEXT NOT NULL, identity TEXT NOT NULL, check_id TEXT NOT NULL, "
    "remedy TEXT NOT NULL, clean_runs INTEGER NOT NULL, boots_since TEXT NOT NULL, "
    "ended INTEGER, counts INTEGER NOT NULL DEFAULT 1, resuming INTEGER NOT NULL DEFAULT 0)",
    "CREATE UNIQUE INDEX drains_open ON drains (node) WHERE ended IS NULL",
    "CREATE INDEX drains_node ON drains (node)",
    kMakeBoots,
    kMakeSweeps,
    "PRAGMA application_id = 0x6d757374",
    "PRAGMA user_version = 3",
};

// From the schema before to schema 2, and to 3.
constexpr std::array kToSecond = {
    "ALTER TABLE drains ADD COLUMN resuming INTEGER NOT NULL DEFAULT 0",
    kMakeBoots,
};
constexpr std::array kToThird = {
    kMakeSweeps,
    "PRAGMA user_version = 3",
};

// Folders of mode 0755 whatever the umask is.
Result<void> make_folder(const fs::path& folder) {
  struct stat status {};

  if (folder.empty() || ::stat(folder.c_str(), &status) == 0) return {};
  if (auto parent = make_folder(folder.parent_path()); !parent) return parent;
  if (::mkdir(folder.c_str(), 0755) == 0) {
    if (::chmod(folder.c_str(), 0755) == 0) return {};
  } else if (errno == EEXIST) {
    return {};
  }
  return os_error("create", folder.native(), errno);
}

// What SQLite makes beside the file takes its mode from it. A file that exists is not opened here:
// closing it would release the locks of another connection of this process.
Result<void> make_file(const fs::path& file) {
  const Descriptor made(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made.is_open() && errno != EEXIST) return os_error("create", file.native(), errno);

  struct stat status {};

  if (::stat(file.c_str(), &status) != 0) return os_error("open", file.native(), errno);
  if (!S_ISREG(status.st_mode)) {
    return make_error(fmt::format("open {}: no regular file", file.string()));
  }
  return {};
}

// The schema. An error where it cannot be a history that this muster knows; 0 where nothing is in
// it yet.
Result<std::int64_t> recognise(Connection& connection, const fs::path& file) {
  TRY_ASSIGN(const auto version, connection.ask_number("PRAGMA user_version"));
  TRY_ASSIGN(const auto application, connection.ask_number("PRAGMA application_id"));
  TRY_ASSIGN(const auto tables, connection.ask_number("SELECT count(*) FROM sqlite_master"));
  if (version == 0 && application == 0 && tables == 0) return 0;
  if (application != kApplication) {
    return make_error(fmt::format("{}: the database of another program", file.string()));
  }
  if (version >= 1 && version <= kSchema) return version;
  return make_error(fmt::format("{}: written by another muster (schema {}, this one has {})",
                                file.string(), version, kSchema));
}

// All of it at one moment: another process may be making the schema.
Result<std::int64_t> recognise_at_once(Connection& connection, const fs::path& file) {
  if (auto begun = connection.run("BEGIN"); !begun) return tl::unexpected(begun.error());
  auto schema = recognise(connection, file);
  static_cast<void>(connection.run("COMMIT"));  // nothing was written
  return schema;
}

Result<void> make_schema(Connection& connection, const fs::path& file) {
  return in_transaction(connection, [&]() -> Result<void> {
    const auto there = recognise(connection, file);  // another process may have been faster
    if (!there) return tl::unexpected(there.error());
    Result<void> made;
    const auto run_all = [&](std::span<const char* const> statements) {
      for (const auto* sql : statements) {
        if (made) made = connection.run(sql);
      }
    };
    if (*there == 0) run_all(kMakeSchema);
    if (*there == 1) run_all(kToSecond);
    if (*there == 1 || *there == 2) run_all(kToThird);
    return made;
  });
}

struct Attempt {
  Result<Connection> connection;
  bool damaged = false;
};

Result<void> prepare(Connection& connection, const fs::path& file) {
  TRY_ASSIGN(const auto there, recognise_at_once(connection, file));
  // Readers and a writer do not wait for each other then. Some file systems cannot; it stays as it
  // was there, or while another process has it.
  static_cast<void>(connection.run("PRAGMA journal_mode = WAL"));
  if (there != kSchema) return make_schema(connection, file);
  return {};
}

// Page by page, without comparing tables with their indexes.
bool is_sound(Connection& connection) {
  auto check = connection.prepare("PRAGMA quick_check(1)");
  const auto row = check.step();
  return row ? *row && check.text(0) == "ok" : !connection.is_damaged();
}

Attempt attempt(const fs::path& file) {
  auto connection = Connection::open(file, Connection::Access::write);
  if (!connection) return {std::move(connection)};
  if (auto prepared = prepare(*connection, file); !prepared) {
    const bool damaged = connection->is_damaged();
    return {tl::unexpected(prepared.error()), damaged};
  }
  if (!is_sound(*connection)) return {make_error(fmt::format("{}: damaged", file.string())), true};
  return {std::move(connection)};
}

// Held while a file is put aside, so that two processes do not put each other's new one aside.
Descriptor lock(const fs::path& folder) {
  constexpr int kTries = 200;
  Descriptor locked(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < kTries && ::flock(locked.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
    ::usleep(10'000);
  }
  return locked;
}

Result<void> put_aside(const fs::path& file, const fs::path& aside) {
  // What is beside it belongs to it: a new file must not find it.
  for (const std::string_view suffix : {"-journal", "-wal", "-shm"}) {
    const auto from = fmt::format("{}{}", file.string(), suffix);
    const auto to = fmt::format("{}{}", aside.string(), suffix);
    if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) {
      return os_error("put aside", from, errno);
    }
  }
  if (::rename(file.c_str(), aside.c_str()) != 0)
    return os_error("put aside", file.native(), errno);
  return {};
}

Result<HistoryFile> begin_again(const fs::path& file) {
  const fs::path aside = fmt::format("{}.corrupt", file.string());
  const Descriptor locked = lock(file.parent_path());
  auto again = attempt(file);
  std::string note;
  if (again.damaged) {
    if (auto moved = put_aside(file, aside); !moved) return tl::unexpected(moved.error());
    if (auto made = make_file(file); !made) return tl::unexpected(made.error());
    note = fmt::format("{} was damaged; it is {} now, and a new one was begun", file.string(),
                       aside.string());
    again = attempt(file);
  }
  if (!again.connection) return tl::unexpected(again.connection.error());
  return HistoryFile{std::move(*again.connection), std::move(note), file};
}

// Neither the file nor what SQLite keeps beside it is a link or somebody else's.
Result<void> check_own(const fs::path& file) {
  if (auto own = check_own_folder(file.parent_path()); !own) return own;
  for (const std::string_view suffix : {"", "-journal", "-wal", "-shm"}) {
    if (auto own = check_own_file(fmt::format("{}{}", file.string(), suffix)); !own) return own;
  }
  return {};
}

}  // namespace

Result<HistoryFile> open_history_file(const fs::path& file) {
  if (auto made = make_folder(file.parent_path()); !made) return tl::unexpected(made.error());
  if (auto own = check_own(file); !own) return tl::unexpected(own.error());
  if (auto made = make_file(file); !made) return tl::unexpected(made.error());
  auto first = attempt(file);
  if (first.damaged) return begin_again(file);
  if (!first.connection) return tl::unexpected(first.connection.error());
  return HistoryFile{std::move(*first.connection), {}, file};
}

Result<HistoryFile> read_history_file(const fs::path& file, Connection::Access access) {
  struct stat status {};

  if (::stat(file.c_str(), &status) != 0) {
    const auto error = os_error("open", file.native(), errno);
    return errno == ENOENT ? make_missing(error.value().message) : error;
  }
  TRY_ASSIGN(auto connection, Connection::open(file, access));
  TRY_ASSIGN(const auto there, recognise_at_once(connection, file));
  if (there == 0) return make_missing(fmt::format("{}: nothing is in it yet", file.string()));
  return HistoryFile{std::move(connection), {}, file};
}

}  // namespace muster::slurm
