// SPDX-License-Identifier: Apache-2.0
#include "lib/process/child.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "lib/base/descriptor.hpp"
#include "lib/process/process.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only
using End = ChildAnswer::End;

std::string hang() {
  for (;;) ::pause();
}

TEST(ChildrenTest, ReturnsTheAnswer) {
  Children children;
  children.start("a", 10s, [] { return std::string(200'000, 'x'); });
  const auto [name, answer] = children.next();
  EXPECT_EQ(name, "a");
  EXPECT_EQ(answer.end, End::answered);
  EXPECT_EQ(answer.bytes, std::string(200'000, 'x'));
  children.start("empty", 10s, [] { return std::string(); });
  EXPECT_EQ(children.next().second.end, End::answered);
  EXPECT_EQ(children.next().first, "");
}

TEST(ChildrenTest, LosesOnlyTheAnswerOfALateChild) {
  Children children;
  children.start("late", 50ms, hang);
  children.start("good", 10s, [] { return std::string("x"); });
  std::map<std::string, ChildAnswer> answers;
  answers.insert(children.next());
  answers.insert(children.next());
  EXPECT_EQ(answers["good"].end, End::answered);
  EXPECT_EQ(answers["late"].end, End::timeout);
  EXPECT_EQ(answers["late"].reason, "no answer within 0.05 s");
}

TEST(ChildrenTest, ReportsHowAChildDied) {
  Children children;
  children.start("killed", 10s, [] {
    ::kill(::getpid(), SIGKILL);
    return std::string();
  });
  EXPECT_EQ(children.next().second.reason, "killed by signal 9");
  children.start("exits", 10s, []() -> std::string { ::_exit(3); });
  const auto [name, answer] = children.next();
  EXPECT_EQ(answer.end, End::died);
  EXPECT_EQ(answer.reason, "ended with status 3 and no answer");
}

TEST(ChildrenTest, AskingOneWaitsForItsEnd) {
  const auto pid = ask_child("slow to end", 10s, [] {
    constexpr std::size_t kTakesLongToFree = 256UL * 1024 * 1024;
    static const std::vector<char> memory(kTakesLongToFree, 'x');
    return std::to_string(::getpid());
  });
  ASSERT_TRUE(pid) << pid.error().message;
  EXPECT_NE(::kill(std::stoi(*pid), 0), 0);
}

TEST(ChildrenTest, IgnoresOutputOfAChild) {
  Children children;
  children.start("noisy", 10s, [] {
    static_cast<void>(std::puts("nonsense"));
    static_cast<void>(std::fflush(stdout));
    return std::string("answer");
  });
  EXPECT_EQ(children.next().second.bytes, "answer");
}

TEST(ChildrenTest, RunInParallel) {
  Children children;
  const auto begin = Clock::now();
  for (const auto* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    children.start(name, begin + 30s, [] {
      ::usleep(200'000);
      return std::string();
    });
  }
  std::set<std::string> names;
  for (int i = 0; i < 8; ++i) names.insert(children.next().first);
  EXPECT_EQ(names.size(), 8U);
  EXPECT_LT(Clock::now() - begin, 8 * 200ms) << "one after the other would take longer";
}

// slurmd reads the output of a hook until its last writer has closed it.
TEST(ChildrenTest, DoNotKeepTheCallersPipesOpen) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe) << pipe.error().message;
  const Descriptor before(::dup(STDERR_FILENO));
  ::dup2(pipe->write.get(), STDERR_FILENO);
  pipe->write = Descriptor();
  Children children;
  children.start("late", 60s, hang);
  ::dup2(before.get(), STDERR_FILENO);
  EXPECT_TRUE(wait_readable({pipe->read.get()}, Clock::now() + 10s).front());
  std::string none;
  EXPECT_EQ(read_all(pipe->read.get(), none, 1), 0) << "the end of the pipe";
}

}  // namespace
}  // namespace muster
