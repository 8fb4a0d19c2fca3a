// SPDX-License-Identifier: Apache-2.0
#include "slurm/history/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <system_error>

namespace muster::slurm {
namespace {

// By a writer, who keeps both beside the file.
bool is_in_use(const std::string& file) {
  std::error_code ignored;  // what cannot be looked at is not there
  return std::filesystem::exists(file + "-wal", ignored) &&
         std::filesystem::exists(file + "-shm", ignored);
}

// As part of a URI.
std::string escaped(std::string_view path) {
  std::string text;
  for (const char letter : path) {
    const bool special = letter == '%' || letter == '?' || letter == '#';
    text += special ? fmt::format("%{:02x}", static_cast<unsigned char>(letter))
                    : std::string(1, letter);
  }
  return text;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  ::sqlite3_finalize(statement);
}

Statement::Statement(Connection& connection, const char* sql) : connection_(&connection) {
  sqlite3_stmt* prepared = nullptr;
  code_ = ::sqlite3_prepare_v2(connection.database_.get(), sql, -1, &prepared, nullptr);
  statement_.reset(prepared);
}

void Statement::bind_next(std::int64_t number) {
  if (code_ == SQLITE_OK) code_ = ::sqlite3_bind_int64(statement_.get(), ++bound_, number);
}

void Statement::bind_next(std::string_view text) {
  if (code_ != SQLITE_OK) return;
  // A null pointer would be NULL, not an empty text. The text need not outlive the call.
  const char* data = text.empty() ? "" : text.data();
  code_ = ::sqlite3_bind_text64(statement_.get(), ++bound_, data, text.size(),
                                SQLITE_TRANSIENT,  // NOLINT(*-cstyle-cast): a macro of SQLite
                                SQLITE_UTF8);
}

Result<bool> Statement::step() {
  const int code = code_ == SQLITE_OK ? ::sqlite3_step(statement_.get()) : code_;
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return connection_->failure(code);
}

Result<void> Statement::run() {
  for (;;) {
    TRY_ASSIGN(const auto row, step());
    if (!row) return {};
  }
}

std::int64_t Statement::number(int column) const {
  return ::sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* data = ::sqlite3_column_blob(statement_.get(), column);
  const int size = ::sqlite3_column_bytes(statement_.get(), column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

void Connection::Close::operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }

Result<Connection> Connection::open(const std::filesystem::path& file, Access access) {
  constexpr int kPatienceMs = 2000;
  Connection made;
  made.name_ = file.string();
  const bool still = access == Access::peek && !is_in_use(made.name_);
  const auto name = still ? fmt::format("file:{}?immutable=1", escaped(made.name_)) : made.name_;
  sqlite3* database = nullptr;
  const int flags = (access == Access::write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
                    (still ? SQLITE_OPEN_URI : 0);
  const int code = ::sqlite3_open_v2(name.c_str(), &database, flags, nullptr);
  made.database_.reset(database);
  if (code != SQLITE_OK) return made.failure(code);
  ::sqlite3_busy_timeout(database, kPatienceMs);
  return made;
}

Result<std::int64_t> Connection::ask_number(const char* sql) {
  auto statement = prepare(sql);
  TRY_ASSIGN(const auto row, statement.step());
  return row ? statement.number(0) : 0;
}

tl::unexpected<Error> Connection::failure(int code) {
  const int primary = code & 0xff;
  damaged_ = damaged_ || primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
  const char* cause =
      database_ == nullptr ? ::sqlite3_errstr(code) : ::sqlite3_errmsg(database_.get());
  return make_error(fmt::format("{}: {}", name_, cause));
}

}  // namespace muster::slurm
