// SPDX-License-Identifier: Apache-2.0
// Where a command's text goes: standard output, standard error, or a file that is replaced at once.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/atomic_file.hpp"
#include "lib/base/result.hpp"

namespace muster {

struct Console {
  // Writes an answer. An error where not all of it could be written; its message is empty where the
  // reader has gone.
  std::function<Result<void>(std::string_view)> out;
  std::function<void(std::string_view)> note;  // one line for the operator, without newline
  bool colour = false;
  std::size_t width = 0;  // of the terminal; 0 where there is none
};

// The console of this process. Colour only on a terminal, and never under NO_COLOR.
[[nodiscard]] Console make_console();

// The mode of a new file, less the umask. A snapshot holds the kernel's log and the environment.
inline constexpr unsigned kReportMode = 0666;
inline constexpr unsigned kSnapshotMode = 0600;

// The open descriptor that a name stands for: "-", "/dev/stdout", "/dev/stderr", "/dev/fd/N" and
// "/proc/self/fd/N". An empty name is standard output, too.
[[nodiscard]] std::optional<int> descriptor_named(std::string_view name);

// Where an answer goes, a piece at a time: an open descriptor, or a file. The text goes to a
// temporary file beside it, which is renamed at the end, so that a reader sees the old text or the
// new. What is no regular file (a device, a pipe) is written to directly.
class Destination {
 public:
  [[nodiscard]] static Result<Destination> open(const Console& console, const std::string& file,
                                                unsigned mode = kReportMode);

  [[nodiscard]] Result<void> write(std::string_view text);
  [[nodiscard]] Result<void> finish();

 private:
  explicit Destination(std::function<Result<void>(std::string_view)> out) : out_(std::move(out)) {}

  explicit Destination(FileReplacement file) : file_(std::move(file)) {}

  std::function<Result<void>(std::string_view)> out_;
  std::optional<FileReplacement> file_;
};

// Writes a whole answer at once.
[[nodiscard]] Result<void> write_answer(const Console& console, const std::string& file,
                                        std::string_view text, unsigned mode = kReportMode);

}  // namespace muster
