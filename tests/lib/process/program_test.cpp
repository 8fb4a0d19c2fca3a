// SPDX-License-Identifier: Apache-2.0
#include "lib/process/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include "lib/base/descriptor.hpp"
#include "lib/process/process.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

Execution shell(const std::string& script, Clock::duration allowed = 20s) {
  return {.program = "/bin/sh",
          .arguments = {"-c", script},
          .environment = {{"PATH", "/usr/bin:/bin"}},
          .limit = allowed};
}

Ended run_well(const Execution& execution) {
  auto ended = run_program(execution);
  EXPECT_TRUE(ended) << ended.error().message;
  return ended ? *std::move(ended) : Ended{};
}

// Whether a process exists and is not a zombie.
bool is_alive(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(status, text);
  return !text.empty() && text.find(") Z ") == std::string::npos;
}

pid_t read_pid(const std::filesystem::path& file) {
  pid_t pid = 0;
  for (int i = 0; i < 1000 && pid == 0; ++i) {
    std::ifstream(file) >> pid;
    if (pid == 0) ::usleep(10'000);
  }
  return pid;
}

bool dies(pid_t pid) {
  for (int i = 0; i < 1000; ++i) {
    if (!is_alive(pid)) return true;
    ::usleep(10'000);
  }
  return false;
}

class RunProgramTest : public ::testing::Test {
 protected:
  TempDir dir_;
  std::string file_ = (dir_.path() / "pid").string();
};

using StartDetachedTest = RunProgramTest;

TEST_F(RunProgramTest, ReturnsBothStreamsAndTheStatus) {
  const auto ended = run_well(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "err\n");
  EXPECT_EQ(ended.status, 3);
}

TEST_F(RunProgramTest, PassesTheInput) {
  auto execution = shell("cat");
  EXPECT_EQ(run_program(execution)->out, "");
  execution.input = std::string(300'000, 'x') + "end";
  EXPECT_EQ(run_program(execution)->out, execution.input);
  auto deaf = shell("exit 0");
  deaf.input = execution.input;
  EXPECT_EQ(run_program(deaf)->status, 0);
}

TEST_F(RunProgramTest, ReportsSignalsAsShellsDo) {
  EXPECT_EQ(run_well(shell("kill -TERM $$")).status, 128 + SIGTERM);
}

TEST_F(RunProgramTest, PassesArgumentsUnchanged) {
  const std::string odd = "a b'c\"$(touch x)\n*;|&\\";
  const auto ended = run_well(
      {.program = "/usr/bin/printf", .arguments = {"%s", odd}, .environment = {}, .limit = 20s});
  EXPECT_EQ(ended.out, odd);
}

TEST_F(RunProgramTest, PassesOnlyTheGivenEnvironment) {
  ::setenv("MUSTER_PROGRAM_TEST", "inherited", 1);
  const auto ended = run_well({.program = "/usr/bin/env",
                               .arguments = {},
                               .environment = {{"A", "1"}, {"B", "two words"}},
                               .limit = 20s});
  ::unsetenv("MUSTER_PROGRAM_TEST");
  EXPECT_EQ(ended.out, "A=1\nB=two words\n");
}

TEST_F(RunProgramTest, ReadsLargeOutputOnBothStreams) {
  const auto ended = run_well(
      shell("head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero; head -c 1000000 /dev/zero "
            ">&2"));
  EXPECT_EQ(ended.out.size(), 1'000'000);
  EXPECT_EQ(ended.err.size(), 2'000'000);
}

TEST_F(RunProgramTest, HasEmptyInputByDefault) {
  EXPECT_EQ(run_well(shell("readlink /proc/self/fd/0; wc -c")).out, "/dev/null\n0\n");
}

TEST_F(RunProgramTest, ClosesOtherDescriptors) {
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor low(::dup(null.get()));  // both without O_CLOEXEC
  const Descriptor high(::fcntl(null.get(), F_DUPFD, 200));
  ASSERT_TRUE(low.is_open() && high.is_open());
  const auto ended = run_well(
      {.program = "/bin/ls", .arguments = {"/proc/self/fd"}, .environment = {}, .limit = 20s});
  EXPECT_EQ(ended.out, "0\n1\n2\n3\n");  // 3 is the directory that it lists
}

TEST_F(RunProgramTest, WorksWithClosedStandardStreams) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (const int number : {0, 1, 2}) ::close(number);
    const auto ended = run_program(shell("echo out; echo err >&2"));
    ::_exit(ended && ended->out == "out\n" && ended->err == "err\n" ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST_F(RunProgramTest, ResetsSignals) {
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGPIPE, &ignore, &before), 0);
  sigset_t blocked;
  sigset_t mask;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, &mask);
  const auto ended = run_well(shell("grep -E '^Sig(Ign|Blk)' /proc/self/status"));
  sigset_t after;
  ::sigprocmask(SIG_SETMASK, &mask, &after);
  ::sigaction(SIGPIPE, &before, nullptr);
  EXPECT_EQ(ended.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  EXPECT_EQ(::sigismember(&after, SIGTERM), 1);  // ours is as it was
  EXPECT_EQ(::sigismember(&after, SIGINT), 0);
}

TEST_F(RunProgramTest, EndsAtTheDeadline) {
  const auto begun = Clock::now();
  const auto ended = run_program(shell("trap '' TERM; while :; do sleep 60; done", 200ms));
  EXPECT_LT(Clock::now() - begun, 10s);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "sh did not answer within 0.2 s");
}

TEST_F(RunProgramTest, KillsTheProcessGroupAtTheDeadline) {
  const auto ended = run_program(shell(fmt::format("sleep 60 & echo $! >{}; wait", file_), 500ms));
  ASSERT_FALSE(ended);
  EXPECT_TRUE(dies(read_pid(file_)));
}

TEST_F(RunProgramTest, KillsBackgroundProcesses) {
  const auto begun = Clock::now();
  const auto ended = run_well(shell(fmt::format("sleep 60 & echo $! >{}; echo done", file_), 60s));
  EXPECT_LT(Clock::now() - begun, 30s);
  EXPECT_EQ(ended.out, "done\n");
  EXPECT_TRUE(dies(read_pid(file_)));
}

TEST_F(RunProgramTest, DoesNotWaitForOtherSessions) {
  const auto begun = Clock::now();
  const auto ended = run_well(
      shell(fmt::format("setsid sh -c 'echo $$ >{}; exec sleep 60' & while [ ! -s {} ]; do :; "
                        "done; echo done",
                        file_, file_),
            60s));
  EXPECT_LT(Clock::now() - begun, 30s);
  const pid_t left = read_pid(file_);
  ASSERT_GT(left, 1);
  ::kill(left, SIGKILL);
  EXPECT_EQ(ended.out, "done\n");
}

TEST_F(RunProgramTest, WaitsForTheEndAfterStreamsAreClosed) {
  EXPECT_EQ(run_well(shell("exec >&- 2>&-; sleep 0.1; exit 5")).status, 5);
}

TEST_F(RunProgramTest, DiesWithItsCaller) {
  const pid_t caller = ::fork();
  if (caller == 0) {
    static_cast<void>(run_program(shell(fmt::format("echo $$ >{}; exec sleep 60", file_))));
    ::_exit(0);
  }
  const pid_t program = read_pid(file_);
  ASSERT_GT(program, 1);
  EXPECT_TRUE(is_alive(program));
  ::kill(caller, SIGKILL);
  ASSERT_EQ(::waitpid(caller, nullptr, 0), caller);
  EXPECT_TRUE(dies(program));
}

TEST_F(RunProgramTest, RefusesTooMuchOutput) {
  for (const auto* script : {"echo 12345", "yes", "yes >&2"}) {
    auto execution = shell(script);
    execution.most_output = 5;
    const auto ended = run_program(execution);
    ASSERT_FALSE(ended) << script;
    EXPECT_EQ(ended.error().message, "sh wrote more than 5 bytes");
  }
  auto execution = shell("printf 12345");
  execution.most_output = 5;
  EXPECT_TRUE(run_program(execution));
}

TEST_F(RunProgramTest, KeepsThePartialOutputOfAProgramThatIsKilled) {
  auto slow = shell("echo first; echo trouble >&2; sleep 100", 300ms);
  slow.keep_partial = true;
  const auto late = run_well(slow);
  EXPECT_EQ(late.out, "first\n");
  EXPECT_EQ(late.err, "trouble\n");
  EXPECT_EQ(late.cut, "sh did not answer within 0.3 s");
  auto endless = shell("while :; do echo 123456789; done");
  endless.keep_partial = true;
  endless.most_output = 25;
  const auto cut = run_well(endless);
  EXPECT_EQ(cut.out, "123456789\n123456789\n12345");
  EXPECT_EQ(cut.cut, "sh wrote more than 25 bytes");
}

TEST_F(StartDetachedTest, TheProgramOutlivesTheGroupAndTheSessionOfItsCaller) {
  const pid_t caller = ::fork();
  if (caller == 0) {
    ::setsid();
    const auto started =
        start_detached("/bin/sh", {"-c", "echo $$ >\"$1\"; exec sleep 100", "sh", file_}, {});
    ::_exit(started ? 0 : 1);
  }
  ASSERT_EQ(reap(caller, 20s), 0);
  ::kill(-caller, SIGKILL);
  const pid_t pid = read_pid(file_);
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(is_alive(pid));
  EXPECT_NE(::getsid(pid), ::getsid(0));
  EXPECT_EQ(std::filesystem::read_symlink(fmt::format("/proc/{}/fd/1", pid)), "/dev/null");
  ::kill(pid, SIGKILL);
}

TEST_F(StartDetachedTest, ReportsAProgramThatCannotBeExecuted) {
  EXPECT_EQ(start_detached("/nonexistent/program", {}, {}).error().message,
            "run /nonexistent/program: No such file or directory");
}

TEST_F(RunProgramTest, ReportsWhyAProgramCannotBeExecuted) {
  dir_.write("plain", "text");
  const auto attempt = [](const std::filesystem::path& program) {
    return run_program({.program = program, .arguments = {}, .environment = {}, .limit = 20s})
        .error();
  };
  const auto missing = dir_.path() / "missing";
  EXPECT_EQ(attempt(missing),
            (Error{.message = fmt::format("run {}: No such file or directory", missing.string()),
                   .missing = true}));
  EXPECT_EQ(attempt(dir_.path() / "plain"),
            Error{.message = fmt::format("run {}/plain: Permission denied", dir_.path().string())});
  dir_.write("script", "#!/nowhere/interpreter\n");
  std::filesystem::permissions(dir_.path() / "script", std::filesystem::perms::owner_all);
  EXPECT_THAT(attempt(dir_.path() / "script").message, EndsWith("No such file or directory"));
  dir_.write("garbage", "\x7f\x01garbage");
  std::filesystem::permissions(dir_.path() / "garbage", std::filesystem::perms::owner_all);
  EXPECT_THAT(attempt(dir_.path() / "garbage").message, EndsWith("Exec format error"));
}

TEST_F(RunProgramTest, StartsNothingAfterTheDeadline) {
  const auto ended = run_program(
      shell(fmt::format("touch {}/started", dir_.path().string()), Clock::duration::zero()));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "sh was not started: no time is left");
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "started"));
}

TEST_F(RunProgramTest, RefusesAnArgumentWithAZeroByte) {
  EXPECT_EQ(run_program(shell(std::string("echo a\0b", 8))).error().message,
            "run /bin/sh: an argument has a zero byte");
}

TEST(RunningProgramsTest, ReturnsEachWhenItEnds) {
  RunningPrograms running;
  ASSERT_TRUE(running.start(7, shell("sleep 0.3; echo late")));
  ASSERT_TRUE(running.start(8, shell("echo soon; exit 3")));
  const auto first = running.wait(Clock::now() + 20s);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].first, 8U);
  EXPECT_EQ(first[0].second->status, 3);
  const auto second = running.wait(Clock::now() + 20s);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].second->out, "late\n");
  EXPECT_EQ(running.size(), 0U);
}

TEST(RunningProgramsTest, KeepsTheDeadlineOfEach) {
  RunningPrograms running;
  ASSERT_TRUE(running.start(1, shell("sleep 100", 200ms)));
  EXPECT_TRUE(running.wait(Clock::now()).empty());
  const auto ended = running.wait(Clock::now() + 20s);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].second.error().message, "sh did not answer within 0.2 s");
}

TEST(RunningProgramsTest, StopsByTheInputOrASignal) {
  RunningPrograms running;
  auto reads = shell("cat; echo end");
  reads.hold_input = true;
  ASSERT_TRUE(running.start(1, reads));
  ASSERT_TRUE(running.start(2, shell("exec sleep 100")));
  ASSERT_TRUE(running.start(3, shell("trap '' TERM; while :; do sleep 1; done")));
  EXPECT_TRUE(running.wait(Clock::now() + 300ms).empty());
  running.stop(Clock::now() + 2s);
  std::map<std::size_t, Result<Ended>> ended;
  while (running.size() > 0) {
    for (auto& [key, result] : running.wait(Clock::now() + 20s)) ended.emplace(key, result);
  }
  EXPECT_EQ(ended.at(1)->out, "end\n");
  EXPECT_EQ(ended.at(2)->status, 128 + SIGTERM);
  EXPECT_FALSE(ended.at(3));
}

}  // namespace
}  // namespace muster
