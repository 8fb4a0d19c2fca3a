// SPDX-License-Identifier: Apache-2.0
#include "lib/process/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <utility>

#include "lib/base/result.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : signals) ::sigaddset(&set, number);
  return set;
}

tl::unexpected<Error> pipe_error() {
  return make_error(fmt::format("pipe: {}", errno_text(errno)));
}

}  // namespace

pid_t fork_child(int orphan_status) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(orphan_status);  // it ended before the line above
  return 0;
}

std::optional<int> reap(pid_t child, milliseconds longest) {
  const auto until = Clock::now() + longest;
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 || Clock::now() >= until) return std::nullopt;
    ::usleep(1000);
  }
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void reap_children(milliseconds longest) {
  const auto until = Clock::now() + longest;
  const HeldSignals child_ends{SIGCHLD};
  for (;;) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno != EINTR) return;
    if (ended == 0 && Clock::now() >= until) return;
    if (ended == 0) static_cast<void>(child_ends.next(until));
  }
}

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Result<Pipe> make_pipe() {
  constexpr int kFirstFree = STDERR_FILENO + 1;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return pipe_error();
  Pipe made{Descriptor(ends[0]), Descriptor(ends[1])};
  for (Descriptor* end : {&made.read, &made.write}) {
    if (end->get() >= kFirstFree) continue;
    Descriptor higher(::fcntl(end->get(), F_DUPFD_CLOEXEC, kFirstFree));
    if (!higher.is_open()) return pipe_error();
    *end = std::move(higher);
  }
  ::fcntl(made.read.get(), F_SETFL, O_NONBLOCK);
  return made;
}

std::vector<bool> wait_readable(const std::vector<int>& descriptors, Clock::time_point until) {
  std::vector<pollfd> polled;
  polled.reserve(descriptors.size());
  for (const int each : descriptors) polled.push_back({.fd = each, .events = POLLIN});
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  const auto timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  const bool interrupted = ::poll(polled.data(), polled.size(), timeout) < 0;
  std::vector<bool> readable;
  readable.reserve(polled.size());
  for (const auto& each : polled) readable.push_back(!interrupted && each.revents != 0);
  return readable;
}

HeldSignals::HeldSignals(const sigset_t& signals) : held_(signals) {
  ::sigprocmask(SIG_BLOCK, &held_, &before_);
}

HeldSignals::HeldSignals(std::initializer_list<int> signals) : HeldSignals(set_of(signals)) {}

void HeldSignals::restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

std::optional<siginfo_t> HeldSignals::next(Clock::time_point until) const {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::seconds(1);
  const auto left = std::clamp<std::chrono::nanoseconds>(
      until - Clock::now(), std::chrono::nanoseconds::zero(), kLongest);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  siginfo_t info{};
  return ::sigtimedwait(&held_, &info, &limit) > 0 ? std::optional(info) : std::nullopt;
}

}  // namespace muster
