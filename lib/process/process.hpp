// SPDX-License-Identifier: Apache-2.0
// What every kind of child process is started, waited for and read with.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <initializer_list>
#include <optional>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster {

// Forks as fork(2) does. The child is killed when this process ends, however it ends; where that
// has happened already, the child exits with `orphan_status`.
[[nodiscard]] pid_t fork_child(int orphan_status);

// How a child has ended, as wait(2) puts it; empty while it still runs. Waits for its end no longer
// than `longest`, which is for a child that has been killed or has closed its pipes.
[[nodiscard]] std::optional<int> reap(pid_t child, std::chrono::milliseconds longest = {});

// From now on, descendants whose own parent ends become children of this process: where PID 1 does
// not reap, as in many a container, nobody else would.
void adopt_orphans();

// Reaps every child until none is left, and no longer than `longest`: what hangs in the kernel does
// not end. It is for the end of a run, when all of them have been killed or have nothing to do.
void reap_children(std::chrono::milliseconds longest = std::chrono::milliseconds(100));

// How it ended as shells count it: 128 + N for signal N.
[[nodiscard]] int exit_status(int wait_status);

// The end to read from does not block. Neither end is a standard stream, even where those are
// closed: a child puts others in their place.
struct Pipe {
  Descriptor read, write;
};

[[nodiscard]] Result<Pipe> make_pipe();

// Waits until one of the descriptors has something to read or is at its end, and at most until
// `until`. Tells which; negative ones are left out.
[[nodiscard]] std::vector<bool> wait_readable(const std::vector<int>& descriptors,
                                              Clock::time_point until);

// Signals that wait to be asked for instead of being delivered, as long as this lives.
class HeldSignals {
 public:
  explicit HeldSignals(const sigset_t& signals);
  HeldSignals(std::initializer_list<int> signals);
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  ~HeldSignals() { restore(); }

  void restore() const;
  // The next one; empty when none has come by `until` or within a second.
  [[nodiscard]] std::optional<siginfo_t> next(Clock::time_point until) const;

 private:
  sigset_t held_{};
  sigset_t before_{};
};

}  // namespace muster
