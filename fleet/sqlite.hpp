// SPDX-License-Identifier: Apache-2.0
// SQLite connections, and statements with parameters. Errors have SQLite's own message.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lib/base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace muster::fleet {

struct Blob {
  std::string_view bytes;
};

// The current row of a statement. Texts and blobs are valid until the next row.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}

  [[nodiscard]] int size() const;
  [[nodiscard]] std::string_view name(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  // Converts a value of another type; null becomes 0.
  [[nodiscard]] std::int64_t whole(int column) const;
  [[nodiscard]] double number(int column) const;
  [[nodiscard]] std::string_view text(int column) const;  // also for blobs; null becomes empty
  [[nodiscard]] std::optional<std::int64_t> maybe_whole(int column) const;

  enum class Type { null, whole, number, text, blob };
  [[nodiscard]] Type type(int column) const;

 private:
  sqlite3_stmt* statement_;
};

class Database {
 public:
  enum class Mode { read, write, create };

  [[nodiscard]] static Result<Database> open(const std::string& file, Mode mode);

  // Opens another connection for another thread. A connection is for one thread at a time.
  [[nodiscard]] Result<Database> open_again() const;

  // Maps the file into memory instead of copying it. A question about values reads most of it.
  [[nodiscard]] Result<void> map();

  // Runs statements without parameters.
  [[nodiscard]] Result<void> execute(const std::string& sql);

  // Runs a statement with parameters: integers, numbers, texts, Blob, std::nullopt and optionals of
  // these. Statements are prepared once.
  template <class... Values>
  [[nodiscard]] Result<void> run(std::string_view sql, const Values&... values) {
    return each(
        sql, [](const Row& /*none*/) {}, values...);
  }

  // Runs a statement and calls `visit` for each row.
  template <class Visit, class... Values>
  [[nodiscard]] Result<void> each(std::string_view sql, const Visit& visit,
                                  const Values&... values) {
    TRY_ASSIGN(auto* const statement, prepare(sql));
    [[maybe_unused]] int place = 0;
    (bind(statement, ++place, values), ...);
    for (;;) {
      const auto more = step(statement);
      if (!more) {
        reset(statement);
        return tl::unexpected(more.error());
      }
      if (!*more) break;
      visit(Row(statement));
    }
    reset(statement);
    return {};
  }

  // Returns the first column of the first row. Empty without rows, or if the column is null.
  template <class... Values>
  [[nodiscard]] Result<std::optional<std::int64_t>> whole(std::string_view sql,
                                                          const Values&... values) {
    std::optional<std::int64_t> found;
    bool first = true;
    TRY(each(
        sql,
        [&](const Row& row) {
          if (std::exchange(first, false)) found = row.maybe_whole(0);
        },
        values...));
    return found;
  }

  [[nodiscard]] std::int64_t last_id() const;

  // Whether the last statement changed a row.
  [[nodiscard]] bool has_changed() const;

  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  [[nodiscard]] Result<sqlite3_stmt*> prepare(std::string_view sql);
  [[nodiscard]] Result<bool> step(sqlite3_stmt* statement);
  static void reset(sqlite3_stmt* statement);
  [[nodiscard]] tl::unexpected<Error> error() const;

  static void bind(sqlite3_stmt* statement, int place, std::nullopt_t value);
  static void bind_whole(sqlite3_stmt* statement, int place, std::int64_t value);
  static void bind(sqlite3_stmt* statement, int place, double value);
  static void bind(sqlite3_stmt* statement, int place, std::string_view value);
  static void bind(sqlite3_stmt* statement, int place, Blob value);

  template <class T>
  static void bind(sqlite3_stmt* statement, int place, const T& value) {
    if constexpr (std::is_integral_v<T>) {
      bind_whole(statement, place, static_cast<std::int64_t>(value));
    } else {
      bind(statement, place, std::string_view(value));
    }
  }

  template <class T>
  static void bind(sqlite3_stmt* statement, int place, const std::optional<T>& value) {
    value ? bind(statement, place, *value) : bind(statement, place, std::nullopt);
  }

  std::string file_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::map<std::string, Statement, std::less<>> statements_;  // finalized first
};

}  // namespace muster::fleet
