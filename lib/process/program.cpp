// SPDX-License-Identifier: Apache-2.0
#include "lib/process/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"
#include "lib/base/text.hpp"
#include "lib/process/process.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kGlance{10};        // how often the program's end is looked for
constexpr milliseconds kDeathThroes{100};  // what is killed may take this long to be gone
constexpr int kFirstFree = STDERR_FILENO + 1;

// Pointers into strings that live longer, as execve wants them.
class Pointers {
 public:
  explicit Pointers(std::vector<std::string> strings) : strings_(std::move(strings)) {
    for (auto& each : strings_) pointers_.push_back(each.data());
    pointers_.push_back(nullptr);
  }

  [[nodiscard]] char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> strings_;
  std::vector<char*> pointers_;
};

// A caller that was started with SIGCHLD ignored would never learn how its children end.
class HeededChildren {
 public:
  HeededChildren() {
    struct sigaction normal {};

    normal.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, nullptr, &before_);
    changed_ = before_.sa_handler == SIG_IGN || (before_.sa_flags & SA_NOCLDWAIT) != 0;
    if (changed_) ::sigaction(SIGCHLD, &normal, nullptr);
  }

  HeededChildren(const HeededChildren&) = delete;
  HeededChildren& operator=(const HeededChildren&) = delete;

  ~HeededChildren() {
    if (changed_) ::sigaction(SIGCHLD, &before_, nullptr);
  }

 private:
  struct sigaction before_ {};

  bool changed_ = false;
};

struct Start {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  int in = -1;                           // to read from; none: /dev/null
  int out = -1, err = -1, failure = -1;  // ends to write to
};

// In the child, where only what is safe in a signal handler may be called. The errno of what went
// wrong goes to `failure`, which a successful execve closes.
[[noreturn]] void become(const Start& start) {
  ::setpgid(0, 0);
  const int input = start.in >= 0 ? start.in : ::open("/dev/null", O_RDONLY);
  const bool placed = input >= 0 && ::dup2(input, STDIN_FILENO) >= 0 &&
                      ::dup2(start.out, STDOUT_FILENO) >= 0 &&
                      ::dup2(start.err, STDERR_FILENO) >= 0;
  int code = placed ? 0 : errno;
  if (start.failure != kFirstFree) ::dup3(start.failure, kFirstFree, O_CLOEXEC);
  ::closefrom(kFirstFree + 1);

  struct sigaction normal {};

  normal.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &normal, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  if (code == 0) {
    ::execve(start.program, start.arguments, start.environment);
    code = errno;
  }
  const auto told = ::write(kFirstFree, &code, sizeof code);
  ::_exit(told == sizeof code ? 127 : 126);
}

// Signals wait meanwhile: no handler of ours runs in the child.
pid_t fork_quietly(const Start& start) {
  sigset_t all;
  ::sigfillset(&all);
  const HeldSignals held(all);
  const pid_t pid = fork_child(127);
  if (pid == 0) become(start);
  return pid;
}

// What arrives at one of its pipes.
struct Stream {
  Descriptor end;
  std::string received{};

  // Takes what is there now, and a little more than `most` at most.
  void receive(std::size_t most) {
    if (!end.is_open() || received.size() > most) return;
    const int code = read_all(end.get(), received, most);
    if (code != EAGAIN && received.size() <= most) end = Descriptor();
  }
};

class Running {
 public:
  Running(pid_t pid, Descriptor out, Descriptor err, Descriptor failure)
      : pid_(pid),
        streams_{Stream{std::move(out)}, Stream{std::move(err)}, Stream{std::move(failure)}} {}

  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // Whatever is still there of its group is killed, before its number can be another's. What does
  // not die from it, in an uninterruptible call, is left behind.
  ~Running() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    static_cast<void>(reap(pid_, kDeathThroes));
  }

  // Reads until it has ended, which is true, or `deadline`, or one stream has more than `most`.
  bool follow(Clock::time_point deadline, std::size_t most) {
    for (;;) {
      const bool over = has_ended();
      // Those it left behind could write for ever.
      if (over) ::kill(-pid_, SIGKILL);
      for (auto& stream : streams_) stream.receive(most);
      if (over) return true;
      if (Clock::now() >= deadline || exceeds(most)) return false;
      wait(deadline);
    }
  }

  [[nodiscard]] bool exceeds(std::size_t most) const {
    return std::any_of(streams_.begin(), streams_.end(),
                       [&](const Stream& stream) { return stream.received.size() > most; });
  }

  // Of a program that could not be executed: why.
  [[nodiscard]] std::optional<int> failure() const {
    int code = 0;
    if (streams_[2].received.size() < sizeof code) return std::nullopt;
    std::memcpy(&code, streams_[2].received.data(), sizeof code);
    return code;
  }

  // Once it has ended.
  Ended result() {
    const int status = *reap(std::exchange(pid_, -1));
    return {.status = exit_status(status),
            .out = std::move(streams_[0].received),
            .err = std::move(streams_[1].received)};
  }

 private:
  // It stays a zombie, so that its number and its group's stay its own.
  [[nodiscard]] bool has_ended() const {
    siginfo_t info = {};
    const int code = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return code == 0 && info.si_pid == pid_;
  }

  void wait(Clock::time_point deadline) const {
    std::vector<int> open;
    for (const auto& stream : streams_) {
      if (stream.end.is_open()) open.push_back(stream.end.get());
    }
    // One that has closed its streams is about to end.
    const auto glance = open.empty() ? milliseconds{1} : kGlance;
    static_cast<void>(wait_readable(open, std::min(deadline, Clock::now() + glance)));
  }

  pid_t pid_;
  std::array<Stream, 3> streams_;
};

std::vector<std::string> assignments(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> made;
  made.reserve(environment.size());
  for (const auto& [name, value] : environment) made.push_back(fmt::format("{}={}", name, value));
  return made;
}

bool has_nul(const std::vector<std::string>& strings) {
  return std::any_of(strings.begin(), strings.end(), [](std::string_view each) {
    return each.find('\0') != std::string_view::npos;
  });
}

// A file in memory, at its beginning: a program that does not read holds nobody up. An error is an
// errno.
tl::expected<Descriptor, int> hold(const std::string& input) {
  if (input.empty()) return Descriptor();
  const Descriptor made(::memfd_create("input", MFD_CLOEXEC));
  Descriptor held(::fcntl(made.get(), F_DUPFD_CLOEXEC, kFirstFree));
  if (!held.is_open()) return tl::unexpected(errno);
  if (const int code = write_all(held.get(), input); code != 0) return tl::unexpected(code);
  if (::lseek(held.get(), 0, SEEK_SET) != 0) return tl::unexpected(errno);
  return held;
}

std::vector<std::string> words_of(const Execution& execution) {
  std::vector<std::string> words{execution.program.string()};
  words.insert(words.end(), execution.arguments.begin(), execution.arguments.end());
  return words;
}

}  // namespace

Result<Ended> run_program(const Execution& execution) {
  const std::string path = execution.program.string();
  const std::string name = execution.program.filename().string();
  const Pointers arguments(words_of(execution));
  const Pointers environment(assignments(execution.environment));
  if (has_nul(words_of(execution)) || has_nul(assignments(execution.environment))) {
    return make_error(fmt::format("run {}: an argument has a zero byte", path));
  }
  if (Clock::now() >= execution.limit.deadline()) {
    return make_error(fmt::format("{} was not started: no time is left", name));
  }
  auto out = make_pipe();
  auto err = make_pipe();
  auto failure = make_pipe();
  for (const auto* pipe : {&out, &err, &failure}) {
    if (!*pipe) return make_error(fmt::format("run {}: {}", path, pipe->error().message));
  }
  const auto input = hold(execution.input);
  if (!input) return os_error("run", path, input.error());
  const HeededChildren heeded;
  const pid_t pid = fork_quietly({.program = path.c_str(),
                                  .arguments = arguments.get(),
                                  .environment = environment.get(),
                                  .in = input->get(),
                                  .out = out->write.get(),
                                  .err = err->write.get(),
                                  .failure = failure->write.get()});
  if (pid < 0) return os_error("run", path, errno);
  ::setpgid(pid, pid);  // here as well: whoever comes second changes nothing
  for (auto* pipe : {&out, &err, &failure}) (*pipe)->write = Descriptor();

  Running running(pid, std::move(out->read), std::move(err->read), std::move(failure->read));
  const bool ended = running.follow(execution.limit.deadline(), execution.most_output);
  if (const auto code = running.failure()) {
    auto error = os_error("run", path, *code);
    error.value().missing = *code == ENOENT;
    return error;
  }
  if (running.exceeds(execution.most_output)) {
    return make_error(fmt::format("{} wrote more than {} bytes", name, execution.most_output));
  }
  if (ended) return running.result();
  return make_error(fmt::format("{} did not answer within {}", name, execution.limit.allowed()));
}

std::string last_line(std::string_view output) {
  std::string_view last;
  for (const auto line : split_lines(output)) {
    if (!trim(line).empty()) last = trim(line);
  }
  return printable(last, 200);
}

}  // namespace muster
