// SPDX-License-Identifier: Apache-2.0
// What the files that implement the history share.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "slurm/history/history.hpp"
#include "slurm/history/sqlite.hpp"

namespace muster::slurm {

struct History::Database {
  Connection connection;
  std::string note;
  std::filesystem::path file;
};

// Of each table the newest that many stay. Not those of some time: a clock that ran ahead once
// would make all before it old.
inline constexpr std::int64_t kMostRows = 100'000;

[[nodiscard]] inline std::int64_t to_number(Time at) { return at.time_since_epoch().count(); }

[[nodiscard]] inline Time to_time(std::int64_t number) {
  return Time(std::chrono::seconds(number));
}

// Several statements that happen together or not at all.
template <class Work>
Result<void> in_transaction(Connection& connection, const Work& work) {
  auto transaction = Transaction::begin(connection);
  if (!transaction) return tl::unexpected(transaction.error());
  if (Result<void> done = work(); !done) return done;
  return transaction->commit();
}

// Within a transaction of the caller's.
[[nodiscard]] Result<void> insert_event(Connection& connection, const Event& event);

}  // namespace muster::slurm
