// SPDX-License-Identifier: Apache-2.0
// The deadline of a whole run. The work is done in a child that may hang wherever it likes: the
// parent touches nothing but the clock, and ends in time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/report/report.hpp"

namespace muster {

// A point in time that parent and child both see. The child may move it, once a profile has told
// how long this context may take.
class Deadline {
 public:
  explicit Deadline(Clock::time_point when) { move(when); }

  [[nodiscard]] Clock::time_point when() const {
    return Clock::time_point(Clock::duration(since_epoch_.load()));
  }

  void move(Clock::time_point when) { since_epoch_.store(when.time_since_epoch().count()); }

  // Sets the exit status of a run that is lost, in place of `undecided`.
  void answer_if_lost(int status) { if_lost_.store(status); }

  [[nodiscard]] int if_lost() const { return if_lost_.load(); }

 private:
  std::atomic<std::int64_t> since_epoch_ = 0;
  std::atomic<int> if_lost_ = kExitUndecided;
};

// How a supervised run ended.
struct Supervised {
  int status = kExitUndecided;
  std::string out, err;     // what it wrote to standard output and standard error
  std::string lost;         // why there is no answer: "muster: no report within 20 s; given up"
  Clock::time_point until;  // its deadline, as it was in the end
};

enum class Input { none, kept };

// Runs `work` in a child and returns its exit status. A child that misses the deadline is killed,
// or abandoned where the kernel will not let it die; the status of such a run, and of one that
// crashes, is Deadline::if_lost(). The message says how long after `started` the deadline was. The
// child has none of the caller's standard streams, except the input where that is kept, so that
// nobody waits at the other end of a pipe for a child that hangs. What the run leaves behind is
// reaped, as far as that ends.
[[nodiscard]] Supervised supervise(Clock::time_point started, Clock::time_point deadline,
                                   const std::function<int(Deadline&)>& work,
                                   Input input = Input::none);

// Writes to a descriptor that may not take it: a pipe that nobody reads, a stopped terminal, a file
// system that does not answer. Returns 0, an errno, or ETIMEDOUT where it did not end by `until`.
[[nodiscard]] int write_in_time(int descriptor, std::string_view text, Clock::time_point until);

// Passes on what a run wrote, and returns its exit status, or `undecided` where its answer could
// not be written.
[[nodiscard]] int pass_on(const Supervised& run);

}  // namespace muster
