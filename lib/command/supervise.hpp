// SPDX-License-Identifier: Apache-2.0
// The deadline of a whole run. The work is done in a child, which may hang; the parent only watches
// the clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/report/report.hpp"

namespace muster {

// A deadline in memory that parent and child share. The child moves it when a profile sets another
// one for this context.
class Deadline {
 public:
  explicit Deadline(Clock::time_point when) { move(when); }

  [[nodiscard]] Clock::time_point when() const {
    return Clock::time_point(Clock::duration(since_epoch_.load()));
  }

  void move(Clock::time_point when) { since_epoch_.store(when.time_since_epoch().count()); }

  // Sets the exit status of a run that is killed or crashes, instead of `undecided`.
  void answer_if_lost(int status) { if_lost_.store(status); }
  [[nodiscard]] int if_lost() const { return if_lost_.load(); }

 private:
  std::atomic<std::int64_t> since_epoch_ = 0;
  std::atomic<int> if_lost_ = kExitUndecided;
};

// How a supervised run ended.
struct Supervised {
  int status = kExitUndecided;
  std::string out, err;     // its output
  std::string lost;         // why no answer came: "muster: no report within 20 s, gave up"
  Clock::time_point until;  // its last deadline
};

enum class Input { none, kept };

// Runs `work` in a child and returns its exit status. A child that misses the deadline is killed,
// or abandoned if the kernel does not let it die; it and a child that crashes have the status
// Deadline::if_lost(). The time in the message is counted from `started`. The child does not have
// the caller's standard streams, except the input if it is kept, so that a child that hangs does
// not keep a pipe open. Reaps all descendants that have ended.
[[nodiscard]] Supervised supervise(Clock::time_point started, Clock::time_point deadline,
                                   const std::function<int(Deadline&)>& work,
                                   Input input = Input::none);

// Writes to a descriptor that may block: a full pipe, a stopped terminal, a file system that hangs.
// Returns 0 or an errno, ETIMEDOUT if it did not end by `until`.
[[nodiscard]] int write_in_time(int descriptor, std::string_view text, Clock::time_point until);

// Prints the output of a run. Returns its exit status, or `undecided` if its answer could not be
// written.
[[nodiscard]] int pass_on(const Supervised& run);

}  // namespace muster
