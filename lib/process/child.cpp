// SPDX-License-Identifier: Apache-2.0
#include "lib/process/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include "lib/base/descriptor.hpp"

namespace muster {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

double elapsed_ms(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

bool is_pipe(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 &&
         (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

// In the child: never returns. The answer is its length and its bytes, so that the parent need not
// wait for the child's end, which a driver can delay for ever.
[[noreturn]] void run_child(const std::string& name,
                            int pipe,
                            pid_t parent,
                            const std::function<std::string()>& work) {
  ::prctl(PR_SET_NAME,
          fmt::format("muster:{}", name).c_str());  // what `ps` shows of one that hangs
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    static_cast<void>(::signal(number, SIG_DFL));
  }
  // Libraries that print must not reach the report. Nor may a child that outlives us hold a pipe
  // open at whose end somebody waits for its last writer: slurmd waits so for a hook.
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere >= 0) {
    ::dup2(nowhere, STDOUT_FILENO);
    if (is_pipe(STDIN_FILENO)) ::dup2(nowhere, STDIN_FILENO);
    if (is_pipe(STDERR_FILENO)) ::dup2(nowhere, STDERR_FILENO);
  }

  const std::string answer = work();
  const std::uint64_t size = answer.size();
  std::array<char, sizeof size> header{};
  std::memcpy(header.data(), &size, sizeof size);
  const bool sent =
      write_all(pipe, {header.data(), header.size()}) == 0 && write_all(pipe, answer) == 0;
  ::_exit(sent ? 0 : 1);
}

// How a child ended that closed its pipe without a whole answer. It is as good as dead, but its
// end may lag behind its pipe's; the wait for it is bounded.
std::string cause_of_death(pid_t pid) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
      return fmt::format("ended with status {} and no answer", WEXITSTATUS(status));
    }
    ::usleep(1000);
  }
  ::kill(pid, SIGKILL);
  return "closed its pipe and did not end";
}

}  // namespace

struct Children::Child {
  std::string name;
  pid_t pid = -1;
  int pipe = -1;
  Clock::time_point started;
  Clock::time_point deadline;
  std::string received;

  // The answer, once the length and all the bytes are there.
  [[nodiscard]] bool complete() const {
    std::uint64_t size = 0;
    if (received.size() < sizeof size) return false;
    std::memcpy(&size, received.data(), sizeof size);
    return received.size() - sizeof size >= size;
  }

  [[nodiscard]] bool oversized() const {
    return received.size() > kMaxAnswer + sizeof(std::uint64_t);
  }

  // Takes what the pipe holds now. False at its end.
  bool receive() {
    std::array<char, 65536> buffer{};
    for (;;) {
      const auto got = ::read(pipe, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno == EAGAIN;
      if (got == 0) return false;
      received.append(buffer.data(), static_cast<std::size_t>(got));
      if (complete() || oversized()) return true;
    }
  }

  // Neither waits: a child in an uninterruptible call outlives both, and init reaps it.
  void abandon() const {
    ::close(pipe);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, WNOHANG);
  }
};

Children::Children() = default;

Children::~Children() {
  for (const auto& child : running_) child.abandon();
  for (const pid_t pid : ended_) ::waitpid(pid, nullptr, WNOHANG);
}

void Children::start(std::string name,
                     Clock::time_point deadline,
                     const std::function<std::string()>& work) {
  const auto started = Clock::now();
  const auto refuse = [&](std::string_view what) {
    const auto cause = std::generic_category().message(errno);
    failed_.emplace_back(std::move(name),
                         ChildAnswer{.reason = fmt::format("{}: {}", what, cause)});
  };
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return refuse("pipe");

  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    run_child(name, ends[1], parent, work);
  }
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    return refuse("fork");
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  running_.push_back({.name = std::move(name),
                      .pid = pid,
                      .pipe = ends[0],
                      .started = started,
                      .deadline = deadline,
                      .received = {}});
}

void Children::hurry(Clock::time_point deadline) {
  for (auto& child : running_) child.deadline = std::min(child.deadline, deadline);
}

// What a child that answered, died or came too late has to say; nothing while it still works.
std::optional<ChildAnswer> Children::examine(Child& child, bool readable) {
  const bool open = !readable || child.receive();
  ChildAnswer answer{.duration_ms = elapsed_ms(child.started)};
  if (child.complete() && !child.oversized()) {
    ::close(child.pipe);
    ended_.push_back(child.pid);
    answer.end = ChildAnswer::End::answered;
    answer.bytes = child.received.substr(sizeof(std::uint64_t));
  } else if (child.oversized()) {
    child.abandon();
    answer.reason = fmt::format("sent more than {} bytes", kMaxAnswer);
  } else if (!open) {
    ::close(child.pipe);
    answer.reason = cause_of_death(child.pid);
  } else if (Clock::now() >= child.deadline) {
    child.abandon();
    ended_.push_back(child.pid);
    const std::chrono::duration<double> allowed = child.deadline - child.started;
    answer.end = ChildAnswer::End::timeout;
    answer.reason = fmt::format("no answer within {:.3g} s", std::max(allowed.count(), 0.0));
  } else {
    return std::nullopt;
  }
  return answer;
}

// Waits for a pipe or the nearest deadline, and tells of each child whether its pipe has something.
std::vector<bool> Children::wait() const {
  std::vector<pollfd> polled;
  polled.reserve(running_.size());
  auto nearest = Clock::time_point::max();
  for (const auto& child : running_) {
    polled.push_back({.fd = child.pipe, .events = POLLIN, .revents = 0});
    nearest = std::min(nearest, child.deadline);
  }
  const auto left = duration_cast<milliseconds>(nearest - Clock::now()).count() + 1;
  const auto timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  const bool interrupted = ::poll(polled.data(), polled.size(), timeout) < 0;
  std::vector<bool> readable;
  readable.reserve(polled.size());
  for (const auto& each : polled) readable.push_back(!interrupted && each.revents != 0);
  return readable;
}

std::pair<std::string, ChildAnswer> Children::next() {
  if (!failed_.empty()) {
    auto result = std::move(failed_.back());
    failed_.pop_back();
    return result;
  }
  while (!running_.empty()) {
    const auto readable = wait();
    for (std::size_t i = 0; i < running_.size(); ++i) {
      auto answer = examine(running_[i], readable[i]);
      if (!answer) continue;
      std::string name = std::move(running_[i].name);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      return {std::move(name), std::move(*answer)};
    }
  }
  return {};
}

}  // namespace muster
