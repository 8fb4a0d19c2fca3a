// SPDX-License-Identifier: Apache-2.0
#include "lib/process/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
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
#include "lib/base/text.hpp"
#include "lib/process/process.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPollInterval{10};
constexpr milliseconds kKillTime{100};  // how long a killed program may take to end
constexpr int kFirstFree = STDERR_FILENO + 1;

struct Start {
  ExecStrings words;  // the first is the program
  ExecStrings environment;
  int in = -1;  // /dev/null if there is none
  int out = -1, err = -1;
  int failure = -1;  // receives the errno of a failed start; a successful execve() closes it
};

// Runs in the child, where only async-signal-safe functions may be called.
[[noreturn]] void become(const Start& start) {
  ::setpgid(0, 0);
  const int input = start.in >= 0 ? start.in : ::open("/dev/null", O_RDONLY);
  const bool placed = input >= 0 && ::dup2(input, STDIN_FILENO) >= 0 &&
                      ::dup2(start.out, STDOUT_FILENO) >= 0 &&
                      ::dup2(start.err, STDERR_FILENO) >= 0;
  int code = placed ? 0 : errno;
  if (start.failure != kFirstFree) ::dup3(start.failure, kFirstFree, O_CLOEXEC);
  ::closefrom(kFirstFree + 1);
  struct sigaction normal = {};
  normal.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &normal, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  if (code == 0) {
    ::execve(*start.words.get(), start.words.get(), start.environment.get());
    code = errno;
  }
  const auto written = ::write(kFirstFree, &code, sizeof code);
  ::_exit(written == sizeof code ? 127 : 126);
}

// Blocks signals in the meantime, so that no handler of ours runs in the child.
template <class Fork, class InChild>
pid_t fork_quietly(const Fork& fork, const InChild& in_child) {
  sigset_t all;
  ::sigfillset(&all);
  const HeldSignals held(all);
  const pid_t pid = fork();
  if (pid == 0) in_child();
  return pid;
}

}  // namespace

class RunningProgram {
 public:
  // The output of a program at one of its pipes.
  struct OutputStream {
    Descriptor end;
    std::string received{};

    // Reads what has arrived, up to a little more than `most`.
    void receive(std::size_t most) {
      if (!end.is_open() || received.size() > most) return;
      const int code = read_all(end.get(), received, most);
      if (code != EAGAIN && received.size() <= most) end = Descriptor();
    }
  };

  using OutputStreams = std::array<OutputStream, 3>;

  RunningProgram(pid_t pid, const Execution& execution, OutputStreams streams, Descriptor input)
      : pid_(pid),
        execution_(execution),
        deadline_(execution.limit.deadline()),
        streams_(std::move(streams)),
        input_(std::move(input)) {}

  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // Kills the rest of the process group before its number can be reused. Does not wait for
  // processes in uninterruptible calls.
  ~RunningProgram() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    static_cast<void>(reap(pid_, kKillTime));
  }

  // Reads what has arrived. Returns the result once the program has ended, at its deadline, or if
  // a stream has too much.
  [[nodiscard]] std::optional<Result<Ended>> look() {
    const bool ended = has_ended();
    if (ended) ::kill(-pid_, SIGKILL);  // its own children could write forever
    for (auto& stream : streams_) stream.receive(execution_.most_output);
    if (!ended && Clock::now() < deadline_ && !exceeds()) return std::nullopt;
    const auto name = execution_.program.filename().string();
    if (const auto code = failure()) {
      return file_error("run", execution_.program.string(), *code);
    }
    if (exceeds()) {
      return cut(fmt::format("{} wrote more than {} bytes", name, execution_.most_output));
    }
    if (ended) return result();
    return cut(fmt::format("{} did not answer within {}", name, execution_.limit.allowed()));
  }

  // Adds what wait_readable() should look at. A program that has closed its streams will soon exit.
  void add_descriptors(std::vector<int>& open) const {
    for (const auto& stream : streams_) {
      if (stream.end.is_open()) open.push_back(stream.end.get());
    }
  }

  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }

  void stop(Clock::time_point deadline) {
    deadline_ = std::min(deadline_, deadline);
    if (input_.is_open()) {
      input_ = Descriptor();
    } else {
      ::kill(-pid_, SIGTERM);
    }
  }

 private:
  [[nodiscard]] bool exceeds() const {
    return std::ranges::any_of(streams_, [&](const OutputStream& stream) {
      return stream.received.size() > execution_.most_output;
    });
  }

  // The errno of a program that could not be executed.
  [[nodiscard]] std::optional<int> failure() const {
    int code = 0;
    if (streams_[2].received.size() < sizeof code) return std::nullopt;
    std::memcpy(&code, streams_[2].received.data(), sizeof code);
    return code;
  }

  [[nodiscard]] Result<Ended> cut(std::string why) {
    if (!execution_.keep_partial) return make_error(std::move(why));
    for (auto& stream : streams_) {
      stream.received.resize(std::min(stream.received.size(), execution_.most_output));
    }
    return Ended{.status = exit_status(SIGKILL),
                 .out = std::move(streams_[0].received),
                 .err = std::move(streams_[1].received),
                 .cut = std::move(why)};
  }

  // Call this after the program has ended.
  [[nodiscard]] Ended result() {
    const int status = *reap(std::exchange(pid_, -1));
    return {.status = exit_status(status),
            .out = std::move(streams_[0].received),
            .err = std::move(streams_[1].received)};
  }

  // Leaves a zombie, so that its number and its group's are not reused.
  [[nodiscard]] bool has_ended() const {
    siginfo_t info = {};
    const int code = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return code == 0 && info.si_pid == pid_;
  }

  pid_t pid_;
  Execution execution_;
  Clock::time_point deadline_;
  OutputStreams streams_;
  Descriptor input_;  // the end that the program reads from; closed if none is held
};

namespace {

bool has_nul(const std::vector<std::string>& strings) {
  return std::ranges::any_of(
      strings, [](const std::string& each) { return each.find('\0') != std::string::npos; });
}

std::vector<std::string> words_of(const Execution& execution) {
  std::vector<std::string> words{execution.program.string()};
  words.insert(words.end(), execution.arguments.begin(), execution.arguments.end());
  return words;
}

// The standard input of a program, and the end of a held one.
Result<Pipe> input_of(const Execution& execution) {
  if (execution.hold_input) {
    TRY_ASSIGN(auto pipe, make_pipe());
    ::fcntl(pipe.read.get(), F_SETFL, 0);
    return pipe;
  }
  if (execution.input.empty()) return Pipe{};
  TRY_ASSIGN(auto file, make_memory_file(execution.input));
  return Pipe{.read = std::move(file), .write = Descriptor()};
}

Result<std::unique_ptr<RunningProgram>> start_program(const Execution& execution) {
  const std::string path = execution.program.string();
  if (has_nul(words_of(execution)) || has_nul(assignments_of(execution.environment))) {
    return make_error("run {}: an argument has a zero byte", path);
  }
  if (Clock::now() >= execution.limit.deadline()) {
    return make_error("{} was not started: no time is left", execution.program.filename().string());
  }
  auto out = make_pipe();
  auto err = make_pipe();
  auto failure = make_pipe();
  auto input = input_of(execution);
  for (const auto* pipe : {&out, &err, &failure, &input}) {
    if (!*pipe) return make_error("run {}: {}", path, pipe->error().message);
  }
  const Start start{.words = ExecStrings(words_of(execution)),
                    .environment = ExecStrings(assignments_of(execution.environment)),
                    .in = input->read.get(),
                    .out = out->write.get(),
                    .err = err->write.get(),
                    .failure = failure->write.get()};
  const pid_t pid = fork_quietly([] { return fork_child(127); }, [&] { become(start); });
  if (pid < 0) return os_error("run", path, errno);
  ::setpgid(pid, pid);  // the child also does this; the second call has no effect
  return std::make_unique<RunningProgram>(
      pid, execution,
      RunningProgram::OutputStreams{
          {{std::move(out->read)}, {std::move(err->read)}, {std::move(failure->read)}}},
      std::move(input->write));
}

}  // namespace

std::vector<std::string> assignments_of(const Variables& variables) {
  std::vector<std::string> made;
  for (const auto& [name, value] : variables) made.push_back(fmt::format("{}={}", name, value));
  return made;
}

Result<Ended> run_program(const Execution& execution) {
  TRY_ASSIGN(const auto running, start_program(execution));
  for (;;) {
    if (auto result = running->look()) return *std::move(result);
    std::vector<int> open;
    running->add_descriptors(open);
    const auto interval = open.empty() ? milliseconds{1} : kPollInterval;
    static_cast<void>(wait_readable(open, std::min(running->deadline(), Clock::now() + interval)));
  }
}

Result<void> start_detached(const std::filesystem::path& program,
                            const std::vector<std::string>& arguments,
                            const std::map<std::string, std::string>& environment) {
  const std::string path = program.string();
  const Execution execution{
      .program = program, .arguments = arguments, .environment = environment, .limit = kKillTime};
  const Descriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto failure = make_pipe();
  if (!nowhere.is_open() || !failure) return os_error("run", path, errno);
  const Start start{.words = ExecStrings(words_of(execution)),
                    .environment = ExecStrings(assignments_of(environment)),
                    .in = nowhere.get(),
                    .out = nowhere.get(),
                    .err = nowhere.get(),
                    .failure = failure->write.get()};
  const pid_t pid = fork_quietly(::fork, [&] {
    ::setsid();
    const pid_t orphan = ::fork();
    if (orphan == 0) become(start);
    ::_exit(orphan < 0 ? errno : 0);
  });
  if (pid < 0) return os_error("fork for", path, errno);
  failure->write = Descriptor();
  const auto until = Clock::now() + 10 * kKillTime;
  static_cast<void>(wait_readable({failure->read.get()}, until));  // until it has been executed
  int code = 0;
  const auto size = read_some(failure->read.get(), reinterpret_cast<char*>(&code), sizeof code);
  const auto ended = reap(pid, 10 * kKillTime);
  if (size == ssize_t{sizeof code}) return os_error("run", path, code);
  if (ended && exit_status(*ended) != 0) return os_error("fork for", path, exit_status(*ended));
  return {};
}

RunningPrograms::RunningPrograms() = default;

RunningPrograms::~RunningPrograms() = default;

Result<void> RunningPrograms::start(std::size_t key, const Execution& execution) {
  TRY_ASSIGN(running_[key], start_program(execution));
  return {};
}

std::vector<std::pair<std::size_t, Result<Ended>>> RunningPrograms::wait(Clock::time_point until,
                                                                         int wake) {
  // Programs that have closed their streams are looked at this often.
  constexpr milliseconds kInterval{100};
  std::vector<std::pair<std::size_t, Result<Ended>>> ended;
  for (;;) {
    std::vector<int> open{wake};
    for (auto each = running_.begin(); each != running_.end();) {
      if (auto result = each->second->look()) {
        ended.emplace_back(each->first, *std::move(result));
        each = running_.erase(each);
      } else {
        (each++)->second->add_descriptors(open);
      }
    }
    if (!ended.empty() || Clock::now() >= until) return ended;
    const auto ready = wait_readable(open, std::min(until, Clock::now() + kInterval));
    if (ready.front()) return ended;
  }
}

void RunningPrograms::stop(Clock::time_point deadline) {
  for (auto& [key, running] : running_) running->stop(deadline);
}

std::string last_line(std::string_view output) {
  std::string_view last;
  for (const auto line : split_lines(output)) {
    if (!trim(line).empty()) last = trim(line);
  }
  return printable(last, 200);
}

}  // namespace muster
