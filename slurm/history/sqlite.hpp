// SPDX-License-Identifier: Apache-2.0
// One connection to an SQLite file, and its prepared statements. Every error names the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace muster::slurm {

class Connection;

class Statement {
 public:
  // The next parameters, from the first one on: numbers and texts. What fails, here or in the
  // statement's text, is told by `step`.
  template <class... Values>
  Statement& bind(const Values&... values) {
    (bind_next(values), ...);
    return *this;
  }

  [[nodiscard]] Result<bool> step();  // whether there is a row
  [[nodiscard]] Result<void> run();   // to its end

  // What `make` makes of each row, to the last one.
  template <class Make>
  [[nodiscard]] auto rows(const Make& make) -> Result<std::vector<decltype(make(*this))>> {
    std::vector<decltype(make(*this))> made;
    for (;;) {
      TRY_ASSIGN(const auto row, step());
      if (!row) return made;
      made.push_back(make(*this));
    }
  }

  [[nodiscard]] std::int64_t number(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  friend class Connection;

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  Statement(Connection& connection, const char* sql);

  void bind_next(std::int64_t number);
  void bind_next(std::string_view text);

  Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
  int code_ = 0;
};

// Not to be carried into a forked child.
class Connection {
 public:
  enum class Access {
    read,
    write,
    peek,  // as it stands, for a look; SQLite makes no file beside it, as it does for readers
  };

  // The file exists. Waits at most 2 s for other processes, here and in every statement.
  [[nodiscard]] static Result<Connection> open(const std::filesystem::path& file, Access access);

  // `sql` is a constant: what users say is bound. The statement must not outlive the connection,
  // nor the connection be moved meanwhile.
  [[nodiscard]] Statement prepare(const char* sql) { return {*this, sql}; }

  template <class... Values>
  [[nodiscard]] Result<void> run(const char* sql, const Values&... values) {
    return prepare(sql).bind(values...).run();
  }

  [[nodiscard]] Result<std::int64_t> ask_number(const char* sql);

  // Whether an error said that the file is no database or is broken.
  [[nodiscard]] bool is_damaged() const { return damaged_; }

 private:
  friend class Statement;

  struct Close {
    void operator()(sqlite3* database) const;
  };

  Connection() = default;

  [[nodiscard]] tl::unexpected<Error> failure(int code);

  std::string name_;
  std::unique_ptr<sqlite3, Close> database_;
  bool damaged_ = false;
};

// Several statements that happen together, or not at all where `work` fails. Others that write
// wait.
template <class Work>
[[nodiscard]] auto in_transaction(Connection& connection, const Work& work) -> decltype(work()) {
  if (auto begun = connection.run("BEGIN IMMEDIATE"); !begun) return tl::unexpected(begun.error());
  auto done = work();
  const auto committed = done ? connection.run("COMMIT") : Result<void>();
  if (done && committed) return done;
  // Where this fails, closing the connection does it.
  static_cast<void>(connection.run("ROLLBACK"));
  if (!committed) return tl::unexpected(committed.error());
  return done;
}

}  // namespace muster::slurm
