// SPDX-License-Identifier: Apache-2.0
// Work in forked children with a deadline each, side by side. A child that hangs in the kernel
// costs its own answer and nothing else: it is killed, or abandoned where the kernel will not let
// it die.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace muster {

struct ChildAnswer {
  enum class End { answered, timeout, died };
  End end = End::died;
  std::string bytes;   // what the work returned, when answered
  std::string reason;  // why there is no answer: "no answer within 2 s", "killed by signal 11"
  double duration_ms = 0;
};

class Children {
 public:
  static constexpr std::size_t kMaxAnswer = 64UL * 1024 * 1024;

  Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  // Kills what still runs and does not wait for what will not die.
  ~Children();

  // Forks; the child runs `work`, sends back the bytes it returns, and ends without running
  // destructors of the parent's objects. `name` must be unique.
  void start(std::string name, const TimeLimit& limit, const std::function<std::string()>& work);

  // Shortens the deadlines of those that run: none is later than `deadline`.
  void hurry(Clock::time_point deadline);

  // Waits until one more child has answered, died or missed its deadline, and returns its name and
  // answer; an empty name when none is left.
  [[nodiscard]] std::pair<std::string, ChildAnswer> next();

 private:
  struct Child;

  [[nodiscard]] std::vector<bool> wait() const;
  [[nodiscard]] std::optional<ChildAnswer> examine(Child& child, bool readable);

  std::vector<Child> running_;
  std::vector<std::pair<std::string, ChildAnswer>> failed_;  // those that could not be started
  std::vector<int> ended_;                                   // pids still to be reaped
};

// What `work` returns, run in one child. An error says why there is no answer.
[[nodiscard]] Result<std::string> ask_child(std::string name, const TimeLimit& limit,
                                            const std::function<std::string()>& work);

// Runs `work` in one child; `work` returns what went wrong, or an empty text. An error is that
// text, or says why there is no answer.
[[nodiscard]] Result<void> run_in_child(std::string name, const TimeLimit& limit,
                                        const std::function<std::string()>& work);

}  // namespace muster
