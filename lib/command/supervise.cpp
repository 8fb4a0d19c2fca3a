// SPDX-License-Identifier: Apache-2.0
#include "lib/command/supervise.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>

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

// SIGCHLD is blocked while the child lives, and waited for: no handler, no race.
class ChildSignal {
 public:
  ChildSignal() {
    ::sigemptyset(&signals_);
    ::sigaddset(&signals_, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &signals_, &before_);
  }

  ChildSignal(const ChildSignal&) = delete;
  ChildSignal& operator=(const ChildSignal&) = delete;

  ~ChildSignal() { restore(); }

  void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  void wait(std::chrono::nanoseconds longest) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (longest - seconds).count()};
    ::sigtimedwait(&signals_, nullptr, &limit);
  }

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

[[noreturn]] void run_child(pid_t parent,
                            Deadline& deadline,
                            const std::function<int(Deadline&)>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitUndecided);
  std::exit(work(deadline));  // NOLINT(concurrency-mt-unsafe): no other thread is left here
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
  constexpr auto kLongestWait = std::chrono::seconds(1);  // then the deadline may have moved
  auto* shared = make_shared_deadline(deadline);
  if (shared == nullptr) {
    note("muster: internal error: no memory for the deadline");
    return kExitUndecided;
  }
  const ChildSignal signal;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    signal.restore();
    run_child(parent, *shared, work);
  }
  if (child < 0) {
    note("muster: internal error: fork failed");
    return kExitUndecided;
  }
  for (;;) {
    int wait_status = 0;
    const pid_t ended = ::waitpid(child, &wait_status, WNOHANG);
    if (ended == child) return status_of(wait_status, shared->if_lost(), note);
    if (ended < 0 && errno != EINTR) {
      note("muster: internal error: the run was lost");
      return kExitUndecided;
    }
    const auto left = shared->when() - Clock::now();
    if (left <= Clock::duration::zero()) break;
    signal.wait(std::min<Clock::duration>(left, kLongestWait));
  }
  ::kill(child, SIGKILL);
  note(fmt::format("muster: no report within {}; given up", in_words(shared->when() - started)));
  return shared->if_lost();
}

}  // namespace muster
