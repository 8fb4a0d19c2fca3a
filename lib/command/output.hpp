// SPDX-License-Identifier: Apache-2.0
// Where a command's text goes: standard output, standard error, or a file that is replaced
// atomically.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/files.hpp"
#include "lib/base/result.hpp"
#include "lib/report/report.hpp"

namespace muster {

struct Console {
  // Writes an answer. The message of an error is empty if the reader has closed its pipe.
  std::function<Result<void>(std::string_view)> out;
  std::function<void(std::string_view)> note;  // one line to standard error, without its end
  bool colour = false;
  std::size_t width = 0;  // of the terminal; 0 if there is none
};

// The console of this process. Colour only on a terminal, and not with NO_COLOR.
[[nodiscard]] Console make_console();

// mpirun gives each rank its own terminal and copies what is written there. The console then
// follows mpirun's own output, if it runs on this machine: no colours and no width, unless that is
// a terminal. `proc` and `process`: of this process.
void follow_launcher(Console& console, const std::map<std::string, std::string>& variables,
                     const std::filesystem::path& proc = "/proc", int process = ::getpid());

// The mode of a new file, before the umask. Snapshots contain the kernel log and the environment.
inline constexpr unsigned kReportMode = 0666;
inline constexpr unsigned kSnapshotMode = 0600;

// The name of a file with "%h" replaced by this host's short name, and "%%" by "%".
[[nodiscard]] std::string with_host(std::string_view file);

// The open descriptor that a name refers to: "-" or nothing (standard output), "/dev/stdout",
// "/dev/stderr", "/dev/fd/N" or "/proc/self/fd/N".
[[nodiscard]] std::optional<int> descriptor_named(std::string_view name);

// A descriptor or a file that output is written to, piece by piece. A regular file is replaced
// at the end; a device or pipe is written to directly. with_host() completes the name.
class Destination {
 public:
  [[nodiscard]] static Result<Destination> open(const Console& console, const std::string& named,
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

// The environment that a command runs in.
struct Caller {
  Console console;
  std::map<std::string, std::string> variables;  // the environment
  Clock::time_point started;
  std::filesystem::path bench = {};  // muster-bench; empty: the one next to this program
};

// Prints the message, if there is one, to standard error. Returns the exit status.
[[nodiscard]] int fail(const Caller& caller, const Failure& failure);

// Writes `text` to standard output or to `file`. Returns `status`, or another if that fails.
[[nodiscard]] int deliver(const Caller& caller, const std::string& file, std::string_view text,
                          int status, unsigned mode = kReportMode);

}  // namespace muster
