// SPDX-License-Identifier: Apache-2.0
// The site's own program: its input, its user, and that it never blocks.
#include "slurm/tell/tell.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "slurm/rules/rules.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::slurm {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TellTest : public ::testing::Test {
 protected:
  TellTest() {
    fs::permissions(dir.path(), fs::perms(0755));
    fs::create_directory(dir.path() / "out");
    fs::permissions(dir.path() / "out", fs::perms(01777));  // the program runs as another user
    rules.program = dir.path("tell");
    rules.deadline = Seconds{20};
  }

  void script(std::string_view body) const {
    dir.write_program("tell", fmt::format("#!/bin/sh\nD={}/out\n{}\n", dir.path().string(), body));
  }

  [[nodiscard]] std::string read(std::string_view name) const {
    return dir.read(fmt::format("out/{}", name));
  }

  [[nodiscard]] std::string failure(std::vector<Event> events = {}) const {
    if (events.empty()) events.push_back(event);
    const auto told = tell_site(rules, events, Clock::now() + std::chrono::seconds(60));
    return told ? "" : told.error().message;
  }

  TempDir dir;
  TellRules rules;
  Event event{.at = Time(std::chrono::seconds(1'800'000'000)),
              .node = "gpu-7",
              .kind = "drained",
              .context = "prolog",
              .check = "ib.rate",
              .device = "mlx5_ib5",
              .message = "half the lanes; $(id) \"quoted\""};
};

TEST_F(TellTest, GetsTheKindTheNodeAndTheEvent) {
  script(R"(printf '[%s]' "$@" >"$D/arguments"; cat >"$D/input"; env >"$D/env"; pwd >"$D/pwd")");
  rules.arguments = {"--queue", "gpu nodes"};
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(read("arguments"), "[--queue][gpu nodes][drained][gpu-7]");
  const auto json = nlohmann::json::parse(read("input"));
  EXPECT_EQ(json["schema"], "muster.event/1");
  EXPECT_EQ(json["check"], "ib.rate");
  EXPECT_EQ(json["message"], event.message);
  EXPECT_EQ(read("pwd"), "/\n");
  EXPECT_THAT(read("env"), Not(HasSubstr("SLURM")));
}

TEST_F(TellTest, RunsOnlyForKindsThatTheSiteWants) {
  script(R"(echo "$1" >>"$D/kinds")");
  auto refused = event;
  refused.kind = "refused";
  auto kept = event;
  kept.kind = "kept";
  EXPECT_EQ(failure({event, kept, refused}), "");
  EXPECT_EQ(read("kinds"), "drained\nrefused\n");
  rules.program.clear();
  EXPECT_EQ(failure(), "");
}

TEST_F(TellTest, IsNotRootUnlessTheSiteWantsIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another";
  script(R"sh({ id -un; id -G; } >"$D/id.$(id -un)"; id -un >"$D/last")sh");
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(read("last"), "nobody\n");
  EXPECT_EQ(read("id.nobody").find(" 0"), std::string::npos);
  fs::remove(dir.path() / "out/last");
  rules.user = "root";
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(read("last"), "root\n");
  rules.user = "no-such-user";
  EXPECT_THAT(failure(), HasSubstr("unknown user no-such-user"));
}

TEST_F(TellTest, AFailureIsReportedAndEndsTheRun) {
  script(R"(echo "$2" >>"$D/nodes"; echo "no route to the queue" >&2; exit 3)");
  EXPECT_EQ(
      failure({event, event}),
      fmt::format("tell.program {}: it ended with status 3: no route to the queue", rules.program));
  EXPECT_EQ(read("nodes"), "gpu-7\n");
}

TEST_F(TellTest, NeverBlocks) {
  rules.deadline = Seconds{0.3};
  script("sleep 600");
  EXPECT_THAT(failure(), HasSubstr("did not answer within"));
  script("sleep 600 & exit 0");  // what it leaves behind holds its streams
  rules.deadline = Seconds{20};
  EXPECT_EQ(failure(), "");
  script("exec <&-; exit 0");  // it need not read
  event.message.assign(500'000, 'x');
  EXPECT_EQ(failure(), "");
  script("yes");
  EXPECT_THAT(failure(), HasSubstr("wrote more than"));
  const auto late = tell_site(rules, event, Clock::now());
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("no time is left"));
}

TEST_F(TellTest, AProgramThatOthersCanWriteIsNotRun) {
  script("touch \"$D/ran\"");
  const auto refused_with = [&](fs::path file, int mode) {
    const auto before = fs::status(file).permissions();
    fs::permissions(file, static_cast<fs::perms>(mode));
    const auto said = failure();
    fs::permissions(file, before);
    return said;
  };
  EXPECT_THAT(refused_with(rules.program, 0777), HasSubstr("is writable by others"));
  EXPECT_THAT(refused_with(rules.program, 0775), HasSubstr("is writable by others"));
  EXPECT_THAT(refused_with(rules.program, 0644), HasSubstr("is not executable"));
  EXPECT_THAT(refused_with(dir.path(), 0777), HasSubstr("is writable by others"));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(rules.program.c_str(), 65534, 0), 0);
    EXPECT_THAT(failure(), HasSubstr("belongs to neither root nor"));
    ASSERT_EQ(::chown(rules.program.c_str(), 0, 0), 0);
  }
  // Nor by way of a link.
  fs::create_directory(dir.path() / "open");
  fs::permissions(dir.path() / "open", fs::perms(0777));
  fs::rename(rules.program, dir.path() / "open/tell");
  fs::create_symlink(dir.path() / "open/tell", rules.program);
  EXPECT_THAT(failure(), HasSubstr("/open is writable by others"));
  fs::remove(rules.program);
  EXPECT_THAT(failure(), AllOf(StartsWith("tell.program "), HasSubstr("No such file")));
  rules.program = dir.path().string();
  EXPECT_THAT(failure(), HasSubstr("is not a file"));
  EXPECT_FALSE(fs::exists(dir.path() / "out/ran"));
}

}  // namespace
}  // namespace muster::slurm
