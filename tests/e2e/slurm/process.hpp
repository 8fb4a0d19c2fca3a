// SPDX-License-Identifier: Apache-2.0
// Programs that a test starts: each with an environment of its own, its output in files, under a
// deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace muster::e2e {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

// Slurm's programs answer in a second; a busy machine takes its time.
inline constexpr auto kPatience = std::chrono::minutes(4);

class Process {
 public:
  // Begins its own session. Its output goes to `log`, which is emptied; standard error too
  // where `errors` is empty.
  Process(Words words, const Variables& variables, const std::filesystem::path& log,
          const std::filesystem::path& errors = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  // Kills it.
  ~Process();

  [[nodiscard]] pid_t pid() const { return pid_; }

  [[nodiscard]] bool running();
  void signal(int number) const;
  // Its status, 128 and more where a signal ended it; killed, and -1, where the time is over.
  int wait(std::chrono::milliseconds patience);
  // Asks it to end, and kills it where it does not.
  void stop(std::chrono::milliseconds patience);

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = -1;
};

// Asks again and again until `done` says true; whether it did before `patience` was over.
[[nodiscard]] bool wait_for(const std::function<bool()>& done,
                            std::chrono::milliseconds patience = kPatience);

[[nodiscard]] std::string content_of(const std::filesystem::path& file);

// The processes of this process namespace that are alive, this one left out: "PID command line".
[[nodiscard]] std::map<pid_t, std::string> other_processes();

}  // namespace muster::e2e
