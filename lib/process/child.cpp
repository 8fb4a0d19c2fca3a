// SPDX-License-Identifier: Apache-2.0
#include "lib/process/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "lib/base/descriptor.hpp"
#include "lib/process/process.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxReceived = Children::kMaxAnswer + sizeof(std::uint64_t);

// Runs in the child. The answer is preceded by its length, so that the parent need not wait for the
// child's end, which a driver can delay forever.
[[noreturn]] void run_child(const std::string& name, int pipe,
                            const std::function<std::string()>& work) {
  ::prctl(PR_SET_NAME, fmt::format("muster:{}", name).c_str());  // for `ps`
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    static_cast<void>(::signal(number, SIG_DFL));
  }
  // Output of libraries must not reach the report. A child that outlives us must not keep open a
  // pipe that slurmd reads until its end, either.
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

// Why a child closed its pipe without a complete answer. Its own end may come a little later.
std::string cause_of_death(pid_t pid) {
  if (const auto status = reap(pid, milliseconds(100))) {
    if (WIFSIGNALED(*status)) return fmt::format("killed by signal {}", WTERMSIG(*status));
    return fmt::format("ended with status {} and no answer", WEXITSTATUS(*status));
  }
  ::kill(pid, SIGKILL);
  return "closed its pipe and did not end";
}

}  // namespace

struct Children::Child {
  std::string name;
  pid_t pid = -1;
  Descriptor pipe;
  TimeLimit limit;
  std::string received;

  // Whether the length and all bytes of the answer have arrived.
  [[nodiscard]] bool complete() const {
    std::uint64_t size = 0;
    if (received.size() < sizeof size) return false;
    std::memcpy(&size, received.data(), sizeof size);
    return received.size() - sizeof size >= size;
  }

  [[nodiscard]] bool oversized() const { return received.size() > kMaxReceived; }

  // Does not wait: a child in an uninterruptible call is reaped by init.
  void abandon() const {
    ::kill(pid, SIGKILL);
    static_cast<void>(reap(pid));
  }
};

Children::Children() = default;

Children::~Children() {
  for (const auto& child : running_) child.abandon();
  for (const pid_t pid : ended_) static_cast<void>(reap(pid));
}

void Children::start(std::string name, const TimeLimit& limit,
                     const std::function<std::string()>& work) {
  const auto refuse = [&](std::string reason) {
    failed_.emplace_back(std::move(name), ChildAnswer{.reason = std::move(reason)});
  };
  auto pipe = make_pipe();
  if (!pipe) return refuse(pipe.error().message);
  const pid_t pid = fork_child(1);
  if (pid == 0) {
    pipe->read = Descriptor();
    run_child(name, pipe->write.get(), work);
  }
  if (pid < 0) return refuse(fmt::format("fork: {}", errno_text(errno)));
  running_.push_back({.name = std::move(name),
                      .pid = pid,
                      .pipe = std::move(pipe->read),
                      .limit = limit,
                      .received = {}});
}

void Children::hurry(Clock::time_point deadline) {
  for (auto& child : running_) child.limit = child.limit.until(deadline);
}

// Returns the answer of a child that answered, died or missed its deadline.
std::optional<ChildAnswer> Children::examine(Child& child, bool readable) {
  const bool open = !readable || read_all(child.pipe.get(), child.received, kMaxReceived) == EAGAIN;
  ChildAnswer answer{.duration_ms = elapsed_ms(child.limit.started())};
  if (child.complete() && !child.oversized()) {
    ended_.push_back(child.pid);
    answer.end = ChildAnswer::End::answered;
    answer.bytes = child.received.substr(sizeof(std::uint64_t));
  } else if (child.oversized()) {
    child.abandon();
    answer.reason = fmt::format("sent more than {} bytes", kMaxAnswer);
  } else if (!open) {
    answer.reason = cause_of_death(child.pid);
  } else if (Clock::now() >= child.limit.deadline()) {
    child.abandon();
    ended_.push_back(child.pid);
    answer.end = ChildAnswer::End::timeout;
    answer.reason = child.limit.deadline() <= child.limit.started()
                        ? "no time was left for it"
                        : fmt::format("no answer within {}", child.limit.allowed());
  } else {
    return std::nullopt;
  }
  return answer;
}

std::pair<std::string, ChildAnswer> Children::next() {
  if (!failed_.empty()) {
    auto result = std::move(failed_.back());
    failed_.pop_back();
    return result;
  }
  while (!running_.empty()) {
    std::vector<int> pipes;
    auto nearest = Clock::time_point::max();
    for (const auto& child : running_) {
      pipes.push_back(child.pipe.get());
      nearest = std::min(nearest, child.limit.deadline());
    }
    const auto readable = wait_readable(pipes, nearest);
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

void Children::wait_for_ends(Clock::time_point deadline) {
  for (const pid_t pid : ended_) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    static_cast<void>(reap(pid, left));
  }
  ended_.clear();
}

Result<std::string> ask_child(std::string name, const TimeLimit& limit,
                              const std::function<std::string()>& work) {
  Children children;
  children.start(std::move(name), limit, work);
  auto answer = children.next().second;
  children.wait_for_ends(limit.deadline());
  if (answer.end != ChildAnswer::End::answered) return make_error(std::move(answer.reason));
  return std::move(answer.bytes);
}

Result<void> run_in_child(std::string name, const TimeLimit& limit,
                          const std::function<std::string()>& work) {
  TRY_ASSIGN(const auto trouble, ask_child(std::move(name), limit, work));
  return trouble.empty() ? Result<void>() : make_error(trouble);
}

std::string user_name(::uid_t user) {
  constexpr auto kLongest = std::chrono::seconds(2);
  // Asks in a child process, because a directory server may not answer.
  const auto name = ask_child("user", kLongest, [user] {
    const auto* entry = ::getpwuid(user);  // NOLINT(concurrency-mt-unsafe): one thread
    return entry == nullptr ? std::string() : std::string(entry->pw_name);
  });
  return name && !name->empty() ? *name : fmt::format("{}", user);
}

std::string user_behind_sudo(const Variables& variables) {
  auto user = value_of(variables, "SUDO_USER");
  return user.empty() ? user_name(::getuid()) : user;
}

}  // namespace muster
