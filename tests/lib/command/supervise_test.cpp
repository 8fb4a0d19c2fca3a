// SPDX-License-Identifier: Apache-2.0
#include "lib/command/supervise.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include "lib/base/descriptor.hpp"
#include "lib/process/process.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

Supervised supervised(Clock::duration allowed, const std::function<int(Deadline&)>& work) {
  const auto began = Clock::now();
  return supervise(began, began + allowed, work);
}

int hang() {
  for (;;) ::pause();
}

TEST(SuperviseTest, ReturnsTheStatusOfTheWork) {
  const auto run = supervised(10s, [](Deadline&) { return 64; });
  EXPECT_EQ(run.status, 64);
  EXPECT_EQ(run.lost, "");
}

TEST(SuperviseTest, GivesUpAtTheDeadline) {
  const auto began = Clock::now();
  const auto run = supervised(60ms, [](Deadline&) { return hang(); });
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.lost, "muster: no report within 60 ms, gave up");
  EXPECT_LT(Clock::now() - began, 5s);
}

TEST(SuperviseTest, ReportsSmallDeadlinesInMilliseconds) {
  EXPECT_EQ(supervised(1ms, [](Deadline&) { return hang(); }).lost,
            "muster: no report within 1 ms, gave up");
  EXPECT_EQ(supervised(1250ms, [](Deadline&) { return hang(); }).lost,
            "muster: no report within 1.25 s, gave up");
}

TEST(SuperviseTest, IsUndecidedAfterACrash) {
  const auto run = supervised(10s, [](Deadline&) { return ::kill(::getpid(), SIGKILL); });
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.lost, "muster: internal error: killed by signal 9");
}

TEST(SuperviseTest, LetsTheWorkMoveTheDeadline) {
  const auto run = supervised(100ms, [](Deadline& deadline) {
    deadline.move(Clock::now() + 10s);
    return ::usleep(200'000);
  });
  EXPECT_EQ(run.status, 0);
}

TEST(SuperviseTest, CollectsTheOutput) {
  const auto run = supervised(10s, [](Deadline&) {
    EXPECT_EQ(write_all(STDOUT_FILENO, std::string(300'000, 'x')), 0);
    EXPECT_EQ(write_all(STDERR_FILENO, "why"), 0);
    return 1;
  });
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, std::string(300'000, 'x'));
  EXPECT_EQ(run.err, "why");
}

TEST(SuperviseTest, DoesNotKeepTheCallersPipesOpen) {
  const auto run = supervised(10s, [](Deadline&) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      struct stat status = {};
      EXPECT_EQ(::fstat(stream, &status), 0);
      if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) return 1;
    }
    return 0;
  });
  EXPECT_EQ(run.status, 0) << run.err;
}

TEST(WriteInTimeTest, GivesUpOnAFullPipe) {
  const auto pipe = make_pipe();
  ASSERT_TRUE(pipe) << pipe.error().message;
  const int full = pipe->write.get();
  ASSERT_EQ(::fcntl(full, F_SETFL, O_NONBLOCK), 0);
  ASSERT_EQ(write_all(full, std::string(1024 * 1024, 'x')), EAGAIN);
  ASSERT_EQ(::fcntl(full, F_SETFL, 0), 0);
  EXPECT_EQ(write_in_time(full, "text", Clock::now() + 50ms), ETIMEDOUT);
}

TEST(WriteInTimeTest, ReturnsTheErrno) {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto until = Clock::now() + 10s;
  EXPECT_EQ(write_in_time(full.get(), "text", until), ENOSPC);
  EXPECT_EQ(write_in_time(full.get(), "", until), 0);
  EXPECT_EQ(write_in_time(-1, "text", until), EBADF);
}

TEST(SuperviseTest, ReapsOrphans) {
  // The work ends before its own child.
  const auto run = supervised(10s, [](Deadline&) {
    if (::fork() == 0) {
      ::usleep(20'000);
      ::_exit(0);
    }
    return 0;
  });
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(::waitpid(-1, nullptr, 0), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace muster
