// SPDX-License-Identifier: Apache-2.0
#include "fleet/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "lib/base/text.hpp"

namespace muster::fleet {

int Row::size() const { return sqlite3_column_count(statement_); }

std::string_view Row::name(int column) const { return sqlite3_column_name(statement_, column); }

bool Row::is_null(int column) const { return type(column) == Type::null; }

std::int64_t Row::whole(int column) const { return sqlite3_column_int64(statement_, column); }

double Row::number(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view Row::text(int column) const {
  const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::optional<std::int64_t> Row::maybe_whole(int column) const {
  if (is_null(column)) return std::nullopt;
  return whole(column);
}

Row::Type Row::type(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return Type::whole;
    case SQLITE_FLOAT:
      return Type::number;
    case SQLITE_TEXT:
      return Type::text;
    case SQLITE_BLOB:
      return Type::blob;
    default:
      return Type::null;
  }
}

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

void Database::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<Database> Database::open(const std::string& file, Mode mode) {
  constexpr int kWaitForLocks_ms = 30'000;
  Database database;
  database.file_ = file;
  const auto open = [&](const std::string& name, int flags) {
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    database.handle_.reset(handle);
    if (code != SQLITE_OK) return code;
    sqlite3_busy_timeout(handle, kWaitForLocks_ms);
    return sqlite3_exec(handle, "PRAGMA schema_version", nullptr, nullptr, nullptr);
  };
  int code = open(file, mode == Mode::read    ? SQLITE_OPEN_READONLY
                        : mode == Mode::write ? SQLITE_OPEN_READWRITE
                                              : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  // SQLite cannot create the files of its log in a folder that this user cannot write to. If they
  // do not exist, no process is writing.
  const bool is_locked_out = code == SQLITE_CANTOPEN || code == SQLITE_READONLY;
  if (is_locked_out && mode == Mode::read &&
      ::access(fmt::format("{}-wal", file).c_str(), F_OK) != 0) {
    std::string name("file:");
    for (const char letter : file) {
      const bool special = letter == '?' || letter == '#' || letter == '%';
      name += special ? fmt::format("%{:02x}", letter) : std::string(1, letter);
    }
    code = open(fmt::format("{}?immutable=1", name), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  }
  if (code == SQLITE_OK) return database;
  return database.error();
}

Result<Database> Database::open_again() const {
  TRY_ASSIGN(auto database, open(file_, Mode::read));
  TRY(database.map());
  return database;
}

Result<void> Database::map() { return execute("PRAGMA mmap_size = 1099511627776"); }

Result<void> Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return error();
}

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(handle_.get()); }

bool Database::has_changed() const { return sqlite3_changes(handle_.get()) > 0; }

Result<sqlite3_stmt*> Database::prepare(std::string_view sql) {
  const auto known = statements_.find(sql);
  if (known != statements_.end()) return known->second.get();
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return error();
  return statements_.emplace(sql, Statement(statement)).first->second.get();
}

Result<bool> Database::step(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return error();
}

void Database::reset(sqlite3_stmt* statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

tl::unexpected<Error> Database::error() const {
  return make_error(fmt::format("{}: {}", printable(file_), sqlite3_errmsg(handle_.get())));
}

void Database::bind(sqlite3_stmt* statement, int place, std::nullopt_t /*value*/) {
  sqlite3_bind_null(statement, place);
}

void Database::bind_whole(sqlite3_stmt* statement, int place, std::int64_t value) {
  sqlite3_bind_int64(statement, place, value);
}

void Database::bind(sqlite3_stmt* statement, int place, double value) {
  sqlite3_bind_double(statement, place, value);
}

// The values outlive the call of each(), which resets the statement at its end.
void Database::bind(sqlite3_stmt* statement, int place, std::string_view value) {
  sqlite3_bind_text64(statement, place, value.data() == nullptr ? "" : value.data(), value.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}

void Database::bind(sqlite3_stmt* statement, int place, Blob value) {
  sqlite3_bind_blob64(statement, place, value.bytes.data() == nullptr ? "" : value.bytes.data(),
                      value.bytes.size(), SQLITE_STATIC);
}

}  // namespace muster::fleet
