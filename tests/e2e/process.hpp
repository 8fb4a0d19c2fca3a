// SPDX-License-Identifier: Apache-2.0
// Programs that a test starts: each has its own environment, writes its output to files, and has a
// deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/files.hpp"

namespace muster::e2e {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

// Slurm's programs answer within a second, but a busy machine can take much longer.
inline constexpr auto kPatience = std::chrono::minutes(4);

class Process {
 public:
  // Starts the program in a new session. Its output goes to `log`, which is truncated; so does
  // standard error if `errors` is empty.
  Process(Words words, const Variables& variables, const std::filesystem::path& log,
          const std::filesystem::path& errors = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  // Kills it.
  ~Process();

  [[nodiscard]] pid_t pid() const { return pid_; }

  [[nodiscard]] bool running();
  void signal(int number) const;
  // Returns the exit status, or 128 plus the number of the signal that ended it. Kills it and
  // returns -1 if it does not end in time.
  int wait(std::chrono::milliseconds patience);
  // Asks it to end, and kills it if it does not.
  void stop(std::chrono::milliseconds patience);

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = -1;
};

// Calls `done` repeatedly until it returns true. Returns whether it did within `patience`.
[[nodiscard]] bool wait_for(const std::function<bool()>& done,
                            std::chrono::milliseconds patience = kPatience);

struct LiveProcess {
  pid_t pid = -1, parent = -1;
  std::string words;      // its command line
  std::string variables;  // its environment, as in /proc
};

// The other live processes of this PID namespace, by pid.
[[nodiscard]] std::vector<LiveProcess> other_processes();

}  // namespace muster::e2e
