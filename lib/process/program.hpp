// SPDX-License-Identifier: Apache-2.0
// Runs another program with a deadline, without a shell, PATH or an inherited environment.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/process/child.hpp"

namespace muster {

struct Execution {
  std::filesystem::path program;  // absolute
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // complete
  TimeLimit limit;
  std::size_t most_output = 16UL * 1024 * 1024;  // of each stream; more is an error
  bool keep_partial = false;  // of a program that is killed, return the output and why it was cut
  std::string input = {};     // its standard input; empty: /dev/null
  bool hold_input = false;    // instead, a pipe that stays open until RunningPrograms::stop()
};

struct Ended {
  int status = 0;  // as shells count: 128 + N for a signal
  std::string out, err;
  std::string cut = {};  // why the output is not complete: the error without keep_partial
};

// Strings as execve() expects them.
class ExecStrings {
 public:
  explicit ExecStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
    for (auto& each : strings_) pointers_.push_back(each.data());
    pointers_.push_back(nullptr);
  }
  ExecStrings(const ExecStrings&) = delete;
  ExecStrings& operator=(const ExecStrings&) = delete;

  [[nodiscard]] char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> strings_;
  std::vector<char*> pointers_;
};

// "NAME=value" for each variable.
[[nodiscard]] std::vector<std::string> assignments_of(const Variables& variables);

// Kills the process group at the deadline and returns an error such as "sinfo did not answer within
// 8 s"; does not wait for processes that cannot be killed. The program dies with this process.
[[nodiscard]] Result<Ended> run_program(const Execution& execution);

// Starts a program that outlives this process and its session, and does not wait for it. It has
// none of our files; its standard streams are /dev/null.
[[nodiscard]] Result<void> start_detached(const std::filesystem::path& program,
                                          const std::vector<std::string>& arguments,
                                          const std::map<std::string, std::string>& environment);

class RunningProgram;

// Programs that run at the same time.
class RunningPrograms {
 public:
  RunningPrograms();
  RunningPrograms(const RunningPrograms&) = delete;
  RunningPrograms& operator=(const RunningPrograms&) = delete;
  // Kills the programs.
  ~RunningPrograms();

  // `key` identifies the program in wait().
  [[nodiscard]] Result<void> start(std::size_t key, const Execution& execution);

  [[nodiscard]] std::size_t size() const { return running_.size(); }

  // Waits until programs have ended or missed their deadlines, until `until`, or until the
  // descriptor `wake` is readable. Each result is as that of run_program().
  [[nodiscard]] std::vector<std::pair<std::size_t, Result<Ended>>> wait(Clock::time_point until,
                                                                        int wake = -1);
  // Asks all to end: closes a held input, else sends SIGTERM. Kills them at `deadline`.
  void stop(Clock::time_point deadline);

 private:
  std::map<std::size_t, std::unique_ptr<RunningProgram>> running_;
};

// Returns the last line that is not blank, usually the error of a failed program, made printable
// and cut to a bounded length. Empty if there is none.
[[nodiscard]] std::string last_line(std::string_view output);

}  // namespace muster
