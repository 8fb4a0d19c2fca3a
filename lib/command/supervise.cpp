// SPDX-License-Identifier: Apache-2.0
#include "lib/command/supervise.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <string>

#include "lib/process/process.hpp"
#include "lib/report/report.hpp"

namespace muster {
namespace {

static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// A page that stays the same page in the child; the process owns it to its end.
Deadline* make_shared_deadline(Clock::time_point when) {
  void* page =
      ::mmap(nullptr, sizeof(Deadline), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) Deadline(when);
}

int status_of(int wait_status, int if_lost, const std::function<void(std::string_view)>& note) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  note(fmt::format("muster: internal error: killed by signal {}", WTERMSIG(wait_status)));
  return if_lost;
}

// "20 s", "1.5 s", "1 ms".
std::string in_words(Clock::duration allowed) {
  const auto milliseconds = std::chrono::round<std::chrono::milliseconds>(allowed).count();
  if (milliseconds < 1000) return fmt::format("{} ms", std::max<std::int64_t>(milliseconds, 1));
  return fmt::format("{:.3g} s", static_cast<double>(milliseconds) / 1000);
}

}  // namespace

int supervise(Clock::time_point started,
              Clock::time_point deadline,
              const std::function<int(Deadline&)>& work,
              const std::function<void(std::string_view)>& note) {
  auto* shared = make_shared_deadline(deadline);
  if (shared == nullptr) {
    note("muster: internal error: no memory for the deadline");
    return kExitUndecided;
  }
  const HeldSignals child_ends{SIGCHLD};  // no handler, no race
  const pid_t child = fork_child(kExitUndecided);
  if (child == 0) {
    child_ends.restore();
    std::exit(work(*shared));  // NOLINT(concurrency-mt-unsafe): no other thread is left here
  }
  if (child < 0) {
    note("muster: internal error: fork failed");
    return kExitUndecided;
  }
  for (;;) {
    if (const auto ended = reap(child)) return status_of(*ended, shared->if_lost(), note);
    if (Clock::now() >= shared->when()) break;
    static_cast<void>(child_ends.next(shared->when()));  // or a second: then it may have moved
  }
  ::kill(child, SIGKILL);
  note(fmt::format("muster: no report within {}; given up", in_words(shared->when() - started)));
  return shared->if_lost();
}

}  // namespace muster
