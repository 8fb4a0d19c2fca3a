// SPDX-License-Identifier: Apache-2.0
#include "lib/process/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr std::initializer_list<int> kStopSignals{SIGINT, SIGTERM, SIGHUP};

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : signals) ::sigaddset(&set, number);
  return set;
}

tl::unexpected<Error> last_error(std::string_view operation) {
  return make_error("{}: {}", operation, errno_text(errno));
}

// Duplicates a descriptor to a number above the standard streams.
Descriptor above_standard_streams(Descriptor file) {
  constexpr int kFirstFree = STDERR_FILENO + 1;
  if (file.get() < 0 || file.get() >= kFirstFree) return file;
  return Descriptor(::fcntl(file.get(), F_DUPFD_CLOEXEC, kFirstFree));
}

}  // namespace

pid_t fork_child(int orphan_status) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(orphan_status);  // it ended before prctl()
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

std::optional<int> wait_or_kill(pid_t child, const std::function<Clock::time_point()>& until) {
  const HeldSignals child_ends{SIGCHLD};
  for (;;) {
    if (const auto status = reap(child)) return status;
    if (Clock::now() >= until()) break;
    static_cast<void>(child_ends.next(until()));
  }
  ::kill(child, SIGKILL);
  return std::nullopt;
}

bool is_pipe(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 &&
         (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
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
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return last_error("pipe");
  Pipe pipe{.read = above_standard_streams(Descriptor(ends[0])),
            .write = above_standard_streams(Descriptor(ends[1]))};
  if (!pipe.read.is_open() || !pipe.write.is_open()) return last_error("pipe");
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

Result<Descriptor> make_memory_file(std::string_view content) {
  auto file = above_standard_streams(Descriptor(::memfd_create("muster", MFD_CLOEXEC)));
  if (!file.is_open()) return last_error("memfd_create");
  if (const int code = write_all(file.get(), content); code != 0) {
    return make_error("write to memory: {}", errno_text(code));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return last_error("lseek");
  return file;
}

std::vector<bool> wait_readable(const std::vector<int>& descriptors, Clock::time_point until) {
  std::vector<pollfd> polled;
  for (const int each : descriptors) polled.push_back({.fd = each, .events = POLLIN});
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  const auto timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  const bool interrupted = ::poll(polled.data(), polled.size(), timeout) < 0;
  std::vector<bool> readable;
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

StopSignals::StopSignals() : held_(kStopSignals) {
  const auto signals = set_of(kStopSignals);
  received_ = Descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

int StopSignals::count() {
  signalfd_siginfo info{};
  while (::read(received_.get(), &info, sizeof info) == ssize_t{sizeof info}) ++count_;
  return count_;
}

}  // namespace muster
