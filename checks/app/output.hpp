// SPDX-License-Identifier: Apache-2.0
// Where a command's text goes: standard output, standard error, or a file that is replaced at once.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster::app {

struct Console {
  std::function<Result<void>(std::string_view)> out;  // the answer; all of it or an error
  std::function<void(std::string_view)> note;         // one line for the operator, without newline
  bool colour = false;
  std::size_t width = 0;  // of the terminal; 0 where there is none
};

// The process' own. Colour only on a terminal, and never under NO_COLOR.
[[nodiscard]] Console make_console();

// The mode of a new file, less the umask. A snapshot holds the kernel's log and the environment.
inline constexpr unsigned kReportMode = 0666;
inline constexpr unsigned kSnapshotMode = 0600;

// Writes beside `path` and renames, so that a reader sees the old text or the new. What is no
// regular file (a device, a pipe) is written to as it is.
[[nodiscard]] Result<void> write_file(const std::filesystem::path& path,
                                      std::string_view text,
                                      unsigned mode = kReportMode);

}  // namespace muster::app
