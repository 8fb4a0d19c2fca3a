// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/probes/probes.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

class CommandsTest : public ::testing::Test {
 protected:
  static CommandFact run(std::vector<std::string> words, std::vector<std::string> allowed,
                         std::chrono::milliseconds deadline = 20s) {
    const auto facts =
        run_commands(Root(),
                     {.commands = {{.words = std::move(words), .deadline = deadline}},
                      .allowed = std::move(allowed)},
                     Clock::time_point::max());
    return facts.empty() ? CommandFact() : facts.front();
  }
};

TEST_F(CommandsTest, WhatTheSiteAllowsIsRunWithoutAShell) {
  const auto fact = run({"printf", "%s\\n", "$HOME; a\tb", "c"}, {"/usr/bin/printf *"});
  EXPECT_EQ(fact.program, "/usr/bin/printf");
  EXPECT_EQ(fact.status, Fact<int>(0)) << fact.status.why();
  EXPECT_EQ(fact.output, Fact<std::string>(std::string("$HOME; a\tb\nc")));
}

TEST_F(CommandsTest, WhatTheSiteDoesNotAllowIsNotRun) {
  const auto fact = run({"printf", "text"}, {"/usr/bin/env", "printf *", "/usr/bin/printf"});
  EXPECT_TRUE(fact.status.is_absent());
  EXPECT_THAT(fact.status.why(), HasSubstr("\"/usr/bin/printf text\" matches nothing in nhc.comm"));
  EXPECT_TRUE(fact.program.empty());
}

TEST_F(CommandsTest, AStatusOtherThanZeroAndASignalAreStatuses) {
  EXPECT_EQ(run({"/bin/false"}, {"*"}).status, Fact<int>(1));
}

TEST_F(CommandsTest, WhatDoesNotEndInItsTimeIsEnded) {
  const auto fact = run({"sleep", "60"}, {"*"}, 50ms);
  EXPECT_TRUE(fact.timed_out);
  EXPECT_TRUE(fact.status.is_unreadable());
}

TEST_F(CommandsTest, WhatIsNotThereIsNoFaultOfTheNode) {
  EXPECT_TRUE(run({"no-such-program"}, {"*"}).status.is_unreadable());
  EXPECT_TRUE(run({"/no/such/program"}, {"*"}).status.is_unreadable());
  EXPECT_TRUE(run({"./sleep"}, {"*"}).status.is_unreadable());
}

TEST_F(CommandsTest, WhatOthersCanWriteIsNotRunAsRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "as an ordinary user its own programs are run";
  const TempDir dir;
  dir.write("program", "#!/bin/sh\n");
  const auto path = dir.path() / "program";
  std::filesystem::permissions(path, std::filesystem::perms::all);
  const auto fact = run({path.string()}, {"*"});
  EXPECT_THAT(fact.status.why(), HasSubstr("can be written by others than root"));
}

TEST_F(CommandsTest, BelowAForeignRootNothingIsRun) {
  const TempDir dir;
  const auto facts =
      run_commands(*Root::below(dir.path()), {.commands = {{.words = {"true"}}}, .allowed = {"*"}},
                   Clock::time_point::max());
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_TRUE(facts.front().status.is_absent());
}

}  // namespace
}  // namespace muster
