// SPDX-License-Identifier: Apache-2.0
// Runs work in parallel in forked children, each with its own deadline. A child that hangs in the
// kernel costs only its own answer: it is killed, or abandoned if the kernel does not let it die.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/process/startup.hpp"

namespace muster {

struct ChildAnswer {
  enum class End { answered, timeout, died };
  End end = End::died;
  std::string bytes;   // the result of the work, if it answered
  std::string reason;  // why no answer came: "no answer within 2 s", "killed by signal 11"
  double duration_ms = 0;
};

class Children {
 public:
  static constexpr std::size_t kMaxAnswer = 64UL * 1024 * 1024;

  Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  // Kills the children that still run, without waiting for them.
  ~Children();

  // Forks a child that runs `work`, sends its result and ends without running the destructors of
  // the parent's objects. `name` must be unique.
  void start(std::string name, const TimeLimit& limit, const std::function<std::string()>& work);

  // Moves later deadlines of running children to `deadline`.
  void hurry(Clock::time_point deadline);

  // Waits until one more child has answered, died or missed its deadline. Returns its name and
  // answer; the name is empty if none is left.
  [[nodiscard]] std::pair<std::string, ChildAnswer> next();

  // Waits until the children that answered have ended, and so released what they held.
  void wait_for_ends(Clock::time_point deadline);

 private:
  struct Child;

  [[nodiscard]] std::optional<ChildAnswer> examine(Child& child, bool readable);

  std::vector<Child> running_;
  std::vector<std::pair<std::string, ChildAnswer>> failed_;  // could not be started
  std::vector<int> ended_;                                   // pids to reap
};

// Runs `work` in one child, waits for its end and returns its result, or why there is none. The end
// can be late: a driver takes a second to free a GPU.
[[nodiscard]] Result<std::string> ask_child(std::string name, const TimeLimit& limit,
                                            const std::function<std::string()>& work);

// Runs `work` in one child. `work` returns an error message, or an empty text.
[[nodiscard]] Result<void> run_in_child(std::string name, const TimeLimit& limit,
                                        const std::function<std::string()>& work);

// The name of a user, or the number if there is none.
[[nodiscard]] std::string user_name(::uid_t user);

// The admin's own user under sudo, else that of this process.
[[nodiscard]] std::string user_behind_sudo(const Variables& variables);

}  // namespace muster
