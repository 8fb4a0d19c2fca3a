// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/calls/tracer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <utility>

#include "lib/base/descriptor.hpp"
#include "lib/process/process.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::seconds(90);  // far beyond any budget of these runs
constexpr auto kFarewell = std::chrono::seconds(20);  // killed processes are gone by then

// A call that may fail. Others only compute, or wait no longer than their argument allows.
struct Call {
  long number = 0;
  std::string_view name;
  std::string_view faults;  // a letter each: h(angs), i EIO, m ENOMEM, f EMFILE, s ENOSPC, r EINTR
};

constexpr auto kCalls = std::to_array<Call>({
    {SYS_read, "read", "hir"},
    {SYS_pread64, "pread64", "hir"},
    {SYS_write, "write", "hisr"},
    {SYS_pwrite64, "pwrite64", "hisr"},
    {SYS_openat, "openat", "himfsr"},
    {SYS_openat2, "openat2", "himfr"},
    {SYS_newfstatat, "newfstatat", "him"},
    {SYS_statx, "statx", "him"},
    {SYS_fstat, "fstat", "him"},
    {SYS_lseek, "lseek", "i"},
    {SYS_faccessat, "faccessat", "him"},
    {SYS_faccessat2, "faccessat2", "him"},
    {SYS_getdents64, "getdents64", "him"},
    {SYS_readlinkat, "readlinkat", "him"},
    {SYS_statfs, "statfs", "him"},
    {SYS_fstatfs, "fstatfs", "him"},
    {SYS_fsync, "fsync", "his"},
    {SYS_fdatasync, "fdatasync", "his"},
    {SYS_ftruncate, "ftruncate", "hisr"},
    {SYS_fchmod, "fchmod", "hi"},
    {SYS_fchmodat, "fchmodat", "hi"},
    {SYS_fchown, "fchown", "hi"},
    {SYS_utimensat, "utimensat", "hi"},
    {SYS_renameat, "renameat", "his"},
    {SYS_unlinkat, "unlinkat", "hi"},
    {SYS_mkdirat, "mkdirat", "his"},
    {SYS_flock, "flock", "r"},
    {SYS_connect, "connect", "r"},
    {SYS_sendto, "sendto", "mr"},
    {SYS_socket, "socket", "mf"},
    {SYS_pipe2, "pipe2", "f"},
    {SYS_dup, "dup", "f"},
    {SYS_memfd_create, "memfd_create", "mf"},
    {SYS_mmap, "mmap", "m"},
    {SYS_clone, "clone", "m"},
    {SYS_execve, "execve", "him"},
    {SYS_wait4, "wait4", "r"},
    {SYS_waitid, "waitid", "r"},
    {SYS_ppoll, "ppoll", "mr"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait", "r"},
    {SYS_clock_nanosleep, "clock_nanosleep", "r"},
#ifdef __x86_64__
    {SYS_open, "open", "himfsr"},
    {SYS_stat, "stat", "him"},
    {SYS_lstat, "lstat", "him"},
    {SYS_access, "access", "him"},
    {SYS_readlink, "readlink", "him"},
    {SYS_rename, "rename", "his"},
    {SYS_unlink, "unlink", "hi"},
    {SYS_mkdir, "mkdir", "his"},
    {SYS_chmod, "chmod", "hi"},
    {SYS_poll, "poll", "mr"},
#endif
});

// The letter of a fault in Call::faults, and its errno: 0 for none and never_returns.
struct Kind {
  char letter;
  int code;
};

Kind kind_of(CallFault fault) {
  constexpr auto kKinds = std::to_array<Kind>(
      {{'-', 0}, {'h', 0}, {'i', EIO}, {'m', ENOMEM}, {'f', EMFILE}, {'s', ENOSPC}, {'r', EINTR}});
  return kKinds.at(static_cast<std::size_t>(fault));
}

struct Tracee {
  std::string process;            // FaultyCall::process
  std::uint64_t calls = 0;        // counted so far
  int children = 0;               // forked so far
  bool dies_with_parent = false;  // PR_SET_PDEATHSIG
  std::optional<long> answer;     // of its current call, in place of the kernel's
};

std::string name_of(pid_t pid) {
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), name);
  return name;
}

pid_t parent_of(pid_t pid) {
  std::string line;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", pid)), line);
  const auto after = line.rfind(')');  // "PID (name) state parent …"
  return after == std::string::npos ? 0 : std::atoi(line.c_str() + after + 4);
}

// The beginning of a text in the tracee's memory, enough for a short name.
std::string text_at(pid_t pid, std::uint64_t address) {
  std::string text;
  while (text.size() < 16) {
    errno = 0;
    const long word = ::ptrace(PTRACE_PEEKDATA, pid, address + text.size(), nullptr);
    if (errno != 0) return text;
    text.append(reinterpret_cast<const char*>(&word), sizeof word);
    if (const auto end = text.find('\0'); end != std::string::npos) return text.substr(0, end);
  }
  return text;
}

// Memory files and pipes between its own processes answer at once.
bool cannot_hang(pid_t pid, const __ptrace_syscall_info& call) {
  std::error_code failure;
  const auto number = static_cast<long>(call.entry.nr);
  if (number == SYS_openat) return text_at(pid, call.entry.args[1]) == "/dev/null";
  const bool by_descriptor = number == SYS_read || number == SYS_pread64 || number == SYS_write ||
                             number == SYS_fstat || number == SYS_newfstatat;
  if (!by_descriptor) return false;
  const auto link = fs::read_symlink(
      fmt::format("/proc/{}/fd/{}", pid, static_cast<int>(call.entry.args[0])), failure);
  const auto target = link.string();
  return !failure && (target.starts_with("/memfd:") || target.starts_with("pipe:") ||
                      target.starts_with("anon_inode:") || target.starts_with("/dev/null"));
}

bool can_have(CallFault fault, const Call& known, pid_t pid, const __ptrace_syscall_info& call) {
  if (known.faults.find(kind_of(fault).letter) == std::string_view::npos) return false;
  return fault != CallFault::never_returns || !cannot_hang(pid, call);
}

class Tracer {
 public:
  explicit Tracer(FaultyCall fault) : fault_(std::move(fault)) {}

  TracedRun run(const std::vector<std::string>& words,
                const std::map<std::string, std::string>& variables) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    auto in = make_pipe();
    auto out = make_pipe();
    if (!in || !out) return {.troubles = {"no pipe"}};
    begun_ = std::chrono::steady_clock::now();
    root_ = start(words, variables, in->read.get(), out->write.get());
    in->read = Descriptor();
    out->write = Descriptor();
    follow([&] { return !root_ended_; }, kPatience, out->read.get());
    if (!root_ended_) result_.troubles.emplace_back("it does not end");
    if (root_ended_) check_pipes(in->write.get(), out->read.get());
    let_go();
    return result_;
  }

 private:
  static pid_t start(const std::vector<std::string>& words,
                     const std::map<std::string, std::string>& variables, int in, int out) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    std::vector<std::string> settings;
    for (const auto& [name, value] : variables) {
      settings.push_back(fmt::format("{}={}", name, value));
    }
    std::vector<char*> arguments;
    std::vector<char*> environment;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    for (const auto& each : settings) environment.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    static_cast<void>(::raise(SIGSTOP));
    ::execve(arguments.front(), arguments.data(), environment.data());
    ::_exit(127);
  }

  // Serves the tracees while `goes_on` returns true. Ends when none is left or the time is up.
  template <class GoesOn>
  void follow(const GoesOn& goes_on, std::chrono::seconds longest, int out) {
    const auto until = std::chrono::steady_clock::now() + longest;
    const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 20'000},
                          .it_value = {.tv_sec = 0, .tv_usec = 20'000}};

    struct sigaction interrupt {};

    interrupt.sa_handler = [](int) {};
    // without SA_RESTART, so that it interrupts waitpid()
    ::sigaction(SIGALRM, &interrupt, nullptr);
    ::setitimer(ITIMER_REAL, &often, nullptr);
    while (goes_on() && std::chrono::steady_clock::now() < until) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, __WALL);
      if (pid > 0) handle(pid, status);
      if (pid < 0 && errno == ECHILD) break;
      if (pid < 0) drain(out);
    }
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
  }

  void drain(int out) {
    std::array<char, 65536> part{};
    ssize_t got = 0;
    while (!out_ended_ && (got = ::read(out, part.data(), part.size())) > 0) {
    }
    if (got == 0) out_ended_ = true;
  }

  // While the hanging process still hangs.
  void check_pipes(int in, int out) {
    const auto held = [&] {
      drain(out);
      pollfd polled{.fd = in, .events = POLLOUT, .revents = 0};
      in_ended_ = ::poll(&polled, 1, 0) > 0 && (polled.revents & POLLERR) != 0;
      return !out_ended_ || !in_ended_;
    };
    follow(held, std::chrono::seconds(5), out);
    static_cast<void>(held());
    if (!out_ended_) result_.troubles.emplace_back("its output is held by who was left behind");
    if (!in_ended_) result_.troubles.emplace_back("its input is held by who was left behind");
  }

  // In the end all have exited or were killed.
  void let_go() {
    if (victim_ > 0 && tracees_.contains(victim_)) {
      if (!killed_ && !tracees_[victim_].dies_with_parent) {
        result_.troubles.emplace_back("who hangs was not killed");
      }
      ::kill(std::exchange(victim_, 0), SIGKILL);
    }
    follow([] { return true; }, kFarewell, -1);
    for (auto left = children(); !left.empty(); left = children()) {
      for (const pid_t pid : left) {
        result_.troubles.push_back(fmt::format("{} was left behind", name_of(pid)));
        ::kill(pid, SIGKILL);
        while (::waitpid(pid, nullptr, __WALL) < 0 && errno == EINTR) {
        }
      }
    }
  }

  // Orphans included: they become children of the subreaper.
  static std::vector<pid_t> children() {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid > 0 && parent_of(pid) == ::getpid()) found.push_back(pid);
    }
    return found;
  }

  void handle(pid_t pid, int status) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) return note_end(pid, status);
    const bool is_new = !tracees_.contains(pid);
    if (pid == root_ && is_new) {
      tracees_[pid] = {};
      ::ptrace(PTRACE_SETOPTIONS, pid, nullptr,
               PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
      return go_on(pid);
    }
    if (is_new) adopt(pid, parent_of(pid));
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    if (signal == (SIGTRAP | 0x80)) return handle_call(pid);
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
      unsigned long child = 0;
      ::ptrace(PTRACE_GETEVENTMSG, pid, nullptr, &child);
      adopt(static_cast<pid_t>(child), pid);
    }
    if (event == PTRACE_EVENT_EXEC && pid != root_) return leave(pid);
    // A new process begins with SIGSTOP; muster itself never stops one.
    go_on(pid, event != 0 || signal == SIGSTOP ? 0 : signal);
  }

  // Either the parent or the child stops first.
  void adopt(pid_t child, pid_t parent) {
    if (tracees_.contains(child)) return;
    auto& of = tracees_[parent];
    tracees_[child].process = fmt::format("{}.{}", of.process, of.children++);
  }

  void leave(pid_t pid, int signal = 0) {
    tracees_.erase(pid);
    ::ptrace(PTRACE_DETACH, pid, nullptr, signal);
  }

  void note_end(pid_t pid, int status) {
    tracees_.erase(pid);
    if (pid != root_) return;
    root_ended_ = true;
    result_.status = exit_status(status);
    result_.took = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begun_);
  }

  // After a call has failed, there is nothing left to trace.
  void go_on(pid_t pid, int signal = 0) {
    if (failed_) return leave(pid, signal);
    ::ptrace(PTRACE_SYSCALL, pid, nullptr, signal);
  }

  void handle_call(pid_t pid) {
    __ptrace_syscall_info call{};
    ::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof call, &call);
    auto& tracee = tracees_[pid];
    if (call.op == PTRACE_SYSCALL_INFO_EXIT) {
      if (pid == victim_) return;  // and never continues
      if (tracee.answer) {
        set_answer(pid, *std::exchange(tracee.answer, std::nullopt));
        failed_ = victim_ == 0;
      }
      return go_on(pid);
    }
    if (call.op == PTRACE_SYSCALL_INFO_ENTRY) handle_entry(pid, tracee, call);
    go_on(pid);
  }

  void handle_entry(pid_t pid, Tracee& tracee, const __ptrace_syscall_info& call) {
    const auto number = static_cast<long>(call.entry.nr);
    const auto argument = [&](std::size_t index) {
      return static_cast<long>(call.entry.args[index]);
    };
    if (number == SYS_prctl && argument(0) == PR_SET_PDEATHSIG) tracee.dies_with_parent = true;
    if (number == SYS_kill && victim_ > 0 && argument(1) == SIGKILL) {
      const auto whom = static_cast<pid_t>(argument(0));
      if (whom == victim_ || whom == -::getpgid(victim_)) {
        killed_ = true;
        return replace(pid, tracee, -1, 0);
      }
    }
    // The first calls of main().
    if (pid == root_ && number == SYS_fcntl && argument(0) == 0 && argument(1) == F_GETFD) {
      main_begun_ = true;
    }
    if (!main_begun_) return;
    const auto* const known = std::ranges::find(kCalls, number, &Call::number);
    if (known == kCalls.end()) return;
    ++tracee.calls;
    ++result_.calls;
    if (fault_.fault == CallFault::none) {
      for (const auto fault : kCallFaults) {
        if (can_have(fault, *known, pid, call)) {
          result_.possible.push_back({fault, tracee.process, tracee.calls});
        }
      }
    }
    if (tracee.calls != fault_.number || tracee.process != fault_.process) return;
    if (!can_have(fault_.fault, *known, pid, call)) return;
    result_.call = fmt::format("{} in {}", known->name, pid == root_ ? "muster" : name_of(pid));
    if (fault_.fault != CallFault::never_returns) {
      return replace(pid, tracee, -1, -kind_of(fault_.fault).code);
    }
    victim_ = pid;
    // It outlives its parent, like a process that hangs in the kernel.
    replace(pid, tracee, SYS_prctl, 0);
  }

  // Replaces the call with another one, or with none (-1), and returns `answer`.
  static void replace(pid_t pid, Tracee& tracee, long number, long answer) {
#ifdef __x86_64__
    user_regs_struct registers{};
    ::ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
    registers.orig_rax = static_cast<unsigned long long>(number);
    if (number == SYS_prctl) registers.rdi = PR_SET_PDEATHSIG, registers.rsi = 0;
    ::ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
#endif
    tracee.answer = answer;
  }

  static void set_answer(pid_t pid, long answer) {
#ifdef __x86_64__
    user_regs_struct registers{};
    ::ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
    registers.rax = static_cast<unsigned long long>(answer);
    ::ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
#endif
  }

  FaultyCall fault_;
  pid_t root_ = 0;
  pid_t victim_ = 0;
  bool killed_ = false;  // the victim was sent SIGKILL
  bool failed_ = false;  // a call
  bool main_begun_ = false;
  bool root_ended_ = false;
  bool out_ended_ = false;
  bool in_ended_ = false;
  std::map<pid_t, Tracee> tracees_;
  std::chrono::steady_clock::time_point begun_;
  TracedRun result_;
};

}  // namespace

TracedRun trace(const std::vector<std::string>& words,
                const std::map<std::string, std::string>& variables, const FaultyCall& fault) {
  return Tracer(fault).run(words, variables);
}

}  // namespace muster::e2e
