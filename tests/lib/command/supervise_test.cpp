// SPDX-License-Identifier: Apache-2.0
#include "lib/command/supervise.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include "lib/base/descriptor.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

struct Ended {
  int status = 0;
  std::string note;
  Clock::duration took{};
};

Ended supervised(Clock::duration allowed, const std::function<int(Deadline&)>& work) {
  const auto began = Clock::now();
  const auto run = supervise(began, began + allowed, work);
  return {.status = run.status, .note = run.lost, .took = Clock::now() - began};
}

int hang() {
  for (;;) ::pause();
}

TEST(SuperviseTest, ReturnsTheStatusOfTheWork) {
  const auto ended = supervised(std::chrono::seconds(10), [](Deadline&) { return 64; });
  EXPECT_EQ(ended.status, 64);
  EXPECT_EQ(ended.note, "");
}

TEST(SuperviseTest, GivesUpAtTheDeadline) {
  const auto ended = supervised(milliseconds(60), [](Deadline&) { return hang(); });
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.note, "muster: no report within 60 ms; given up");
  EXPECT_LT(ended.took, std::chrono::seconds(5));
}

TEST(SuperviseTest, ReportsSmallDeadlinesInMilliseconds) {
  EXPECT_EQ(supervised(milliseconds(1), [](Deadline&) { return hang(); }).note,
            "muster: no report within 1 ms; given up");
  EXPECT_EQ(supervised(milliseconds(1250), [](Deadline&) { return hang(); }).note,
            "muster: no report within 1.25 s; given up");
}

TEST(SuperviseTest, IsUndecidedAfterACrash) {
  const auto ended = supervised(std::chrono::seconds(10), [](Deadline&) {
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.note, "muster: internal error: killed by signal 9");
}

TEST(SuperviseTest, LetsTheWorkMoveTheDeadline) {
  const auto ended = supervised(milliseconds(100), [](Deadline& deadline) {
    deadline.move(Clock::now() + std::chrono::seconds(10));
    ::usleep(200'000);
    return 0;
  });
  EXPECT_EQ(ended.status, 0);
}

TEST(SuperviseTest, CollectsTheOutput) {
  const auto run = supervise(Clock::now(), Clock::now() + std::chrono::seconds(10), [](Deadline&) {
    EXPECT_EQ(write_all(STDOUT_FILENO, std::string(300'000, 'x')), 0);
    EXPECT_EQ(write_all(STDERR_FILENO, "why"), 0);
    return 1;
  });
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, std::string(300'000, 'x'));
  EXPECT_EQ(run.err, "why");
}

TEST(SuperviseTest, DoesNotKeepTheCallersPipesOpen) {
  const auto began = Clock::now();
  const auto run = supervise(began, began + std::chrono::seconds(10), [](Deadline&) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      struct stat status = {};
      EXPECT_EQ(::fstat(stream, &status), 0);
      if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) return 1;
    }
    return 0;
  });
  EXPECT_EQ(run.status, 0) << run.err;
}

class FullPipe {
 public:
  FullPipe() {
    EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK), 0);
    EXPECT_EQ(write_all(ends_[1], std::string(1024 * 1024, 'x')), EAGAIN);
    EXPECT_EQ(::fcntl(ends_[1], F_SETFL, 0), 0);
  }

  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;

  ~FullPipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  [[nodiscard]] int to_write() const { return ends_[1]; }

 private:
  std::array<int, 2> ends_{};
};

TEST(WriteInTimeTest, GivesUpOnAFullPipe) {
  const FullPipe pipe;
  const auto until = Clock::now() + milliseconds(50);
  EXPECT_EQ(write_in_time(pipe.to_write(), "text", until), ETIMEDOUT);
}

TEST(WriteInTimeTest, ReturnsTheErrno) {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto until = Clock::now() + std::chrono::seconds(10);
  EXPECT_EQ(write_in_time(full.get(), "text", until), ENOSPC);
  EXPECT_EQ(write_in_time(full.get(), "", until), 0);
  EXPECT_EQ(write_in_time(-1, "text", until), EBADF);
}

TEST(SuperviseTest, ReapsOrphans) {
  // The work ends before its own child.
  const auto run = supervise(Clock::now(), Clock::now() + std::chrono::seconds(10), [](Deadline&) {
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
