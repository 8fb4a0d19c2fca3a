// SPDX-License-Identifier: Apache-2.0
// The file of the history: made, recognised, put aside where it is damaged; and what the files that
// implement the history share.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "lib/base/result.hpp"
#include "slurm/history/event.hpp"
#include "slurm/history/sqlite.hpp"

namespace muster::slurm {

struct HistoryFile {
  Connection connection;
  std::string note;  // that a damaged file was put aside, and where; empty where none was
  std::filesystem::path path;
};

// These open a file as History::open, History::read and History::peek say.
[[nodiscard]] Result<HistoryFile> open_history_file(const std::filesystem::path& file);
[[nodiscard]] Result<HistoryFile> read_history_file(const std::filesystem::path& file,
                                                    Connection::Access access);

// How many rows of each table stay, the newest. It is no span of time: a clock that ran ahead once
// would make all before it old.
inline constexpr std::int64_t kMostRows = 100'000;

[[nodiscard]] inline std::int64_t to_number(Time at) { return at.time_since_epoch().count(); }

[[nodiscard]] inline Time to_time(std::int64_t number) {
  return Time(std::chrono::seconds(number));
}

// Within a transaction of the caller's.
[[nodiscard]] Result<void> insert_event(Connection& connection, const Event& event);

}  // namespace muster::slurm
