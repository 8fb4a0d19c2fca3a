// SPDX-License-Identifier: Apache-2.0
// One connection to an SQLite file, and its prepared statements. Every error names the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace muster::slurm {

class Connection;

class Statement {
 public:
  // The next parameter, from the first one on. What fails, here or in the statement's text, is told
  // by `step`.
  Statement& bind(std::int64_t number);
  Statement& bind(std::string_view text);

  [[nodiscard]] Result<bool> step();  // whether there is a row
  [[nodiscard]] Result<void> run();   // to its end
  [[nodiscard]] std::int64_t number(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  friend class Connection;

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  Statement(Connection& connection, const char* sql);

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

  [[nodiscard]] Result<void> run(const char* sql) { return prepare(sql).run(); }

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

// Undone at its end unless it was committed. Others that write wait.
class Transaction {
 public:
  [[nodiscard]] static Result<Transaction> begin(Connection& connection);

  Transaction(Transaction&& other) noexcept;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  [[nodiscard]] Result<void> commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}

  Connection* connection_;
};

}  // namespace muster::slurm
