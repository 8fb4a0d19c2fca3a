// SPDX-License-Identifier: Apache-2.0
// The primitives that start, await and read child processes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster {

// Forks as fork(2) does. The child is killed when this process ends. If it has already ended, the
// child exits with `orphan_status`.
[[nodiscard]] pid_t fork_child(int orphan_status);

// Returns the wait status of a child that has ended. Waits up to `longest`, for a child that was
// killed or has closed its pipes.
[[nodiscard]] std::optional<int> reap(pid_t child, std::chrono::milliseconds longest = {});

// Waits for `child` until `until()`, which may move: it is called at least once a second. Kills the
// child then and returns nothing.
[[nodiscard]] std::optional<int> wait_or_kill(pid_t child,
                                              const std::function<Clock::time_point()>& until);

// Whether an open file is a pipe or a socket.
[[nodiscard]] bool is_pipe(int descriptor);

// From now on orphaned descendants become children of this process: in many containers PID 1 does
// not reap them.
void adopt_orphans();

// Reaps all children at the end of a run, for at most `longest`: those that hang in the kernel do
// not end.
void reap_children(std::chrono::milliseconds longest = std::chrono::milliseconds(100));

// Returns the exit status as shells do: 128 + N for signal N.
[[nodiscard]] int exit_status(int wait_status);

// The read end does not block. Neither end takes the number of a closed standard stream, which a
// child replaces.
struct Pipe {
  Descriptor read, write;
};

[[nodiscard]] Result<Pipe> make_pipe();

// A file in memory that holds `content`, at its beginning. Not a standard stream either.
[[nodiscard]] Result<Descriptor> make_memory_file(std::string_view content);

// Waits until one of the descriptors is readable or at its end, or until `until`. Returns which.
// Negative descriptors are ignored.
[[nodiscard]] std::vector<bool> wait_readable(const std::vector<int>& descriptors,
                                              Clock::time_point until);

// Blocks signals while it lives, so that next() receives them instead.
class HeldSignals {
 public:
  explicit HeldSignals(const sigset_t& signals);
  HeldSignals(std::initializer_list<int> signals);
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  ~HeldSignals() { restore(); }

  void restore() const;
  // Waits for the next one until `until`, and at most for a second.
  [[nodiscard]] std::optional<siginfo_t> next(Clock::time_point until) const;

 private:
  sigset_t held_{};
  sigset_t before_{};
};

// SIGINT, SIGTERM and SIGHUP as requests to stop a run, which do not end anything on their own.
class StopSignals {
 public:
  StopSignals();
  // Readable when another one has arrived.
  [[nodiscard]] int descriptor() const { return received_.get(); }
  // How many have arrived.
  [[nodiscard]] int count();

 private:
  HeldSignals held_;
  Descriptor received_;
  int count_ = 0;
};

}  // namespace muster
