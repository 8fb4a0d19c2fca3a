// SPDX-License-Identifier: Apache-2.0
// The file of the history: made, recognised, put aside where it is damaged.
#pragma once

#include <filesystem>
#include <string>

#include "lib/base/result.hpp"
#include "slurm/history/sqlite.hpp"

namespace muster::slurm {

struct HistoryFile {
  Connection connection;
  std::string note;  // that a damaged file was put aside, and where; empty where none was
};

// As History::open, History::read and History::peek say.
[[nodiscard]] Result<HistoryFile> open_history_file(const std::filesystem::path& file);
[[nodiscard]] Result<Connection> read_history_file(const std::filesystem::path& file,
                                                   Connection::Access access);

}  // namespace muster::slurm
