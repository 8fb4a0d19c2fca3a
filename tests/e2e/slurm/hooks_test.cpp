// SPDX-License-Identifier: Apache-2.0
// The scripts that Slurm calls: only muster's verdict fails a node, even if muster breaks.
#include <fmt/format.h>

#include <csignal>

#include "tests/e2e/slurm/cluster.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

struct Hook {
  const char* name;
  const char* context;
};

class HookScript : public ::testing::TestWithParam<Hook> {
 protected:
  void SetUp() override {
    const auto text =
        shipped_hook(GetParam().name, folder.path() / "muster", folder.path() / "logger");
    ASSERT_NE(text, "");
    folder.write_program("hook", text);
  }

  // Calls it like slurmd, with only slurmd's variables.
  [[nodiscard]] Ran run() const {
    Process process({folder.path("hook")}, {{"SLURMD_NODENAME", "n1"}}, folder.path() / "out",
                    folder.path() / "err");
    return {.status = process.wait(kPatience),
            .out = content_of(folder.path() / "out"),
            .err = content_of(folder.path() / "err")};
  }

  TempDir folder;
};

TEST_P(HookScript, PassesItsContextAndTheVerdict) {
  for (const int status : {0, 1}) {
    folder.write_program(
        "muster", fmt::format("#!/bin/sh\necho \"$* for $SLURMD_NODENAME\"\nexit {}\n", status));
    const auto ran = run();
    EXPECT_EQ(ran.status, status);
    EXPECT_EQ(ran.out, fmt::format("hook {} for n1\n", GetParam().context));
    EXPECT_EQ(ran.err, "");
  }
}

TEST_P(HookScript, NeverFailsIfMusterIsBroken) {
  for (const auto* end : {"exit 2", "exit 64", "exit 78", "exit 127", "kill -SEGV $$"}) {
    folder.write_program("muster", fmt::format("#!/bin/sh\n{}\n", end));
    const auto ran = run();
    EXPECT_EQ(ran.status, 0) << end;
    EXPECT_THAT(ran.err, HasSubstr("the node was not checked")) << end;
  }
}

TEST_P(HookScript, NeverFailsIfMusterCannotBeStarted) {
  EXPECT_EQ(run().status, 0) << "missing";
  EXPECT_THAT(run().err, HasSubstr("muster is not there or not executable"));
  folder.write("muster", "#!/bin/sh\nexit 1\n");
  fs::permissions(folder.path() / "muster", fs::perms(0644));
  EXPECT_EQ(run().status, 0) << "not executable";
  folder.write_program("muster", "#!/nonexistent/interpreter\n");
  EXPECT_EQ(run().status, 0) << "no interpreter";
  folder.remove("muster");
  fs::create_directory(folder.path() / "muster");
  EXPECT_EQ(run().status, 0) << "a directory";
}

TEST_P(HookScript, LogsToSyslogIfMusterIsBroken) {
  // The logger gets nothing else, and inherits nothing of the hook's that it could keep open.
  folder.write_program(
      "logger", fmt::format("#!/bin/sh\necho \"$*\" >>{0}/said\necho to out\necho to err >&2\n",
                            folder.path().string()));
  const auto said = [&] { return content_of(folder.path() / "said"); };
  EXPECT_EQ(run().out, "");
  EXPECT_EQ(
      said(),
      fmt::format("-t muster -p daemon.warning -- {}/muster is not there or not executable: the "
                  "node was not checked\n",
                  folder.path().string()));
  folder.remove("said");
  folder.write_program("muster", "#!/bin/sh\nexit 64\n");
  const auto ran = run();
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, fmt::format("muster: hook {} ended with status 64: the node was not checked\n",
                                 GetParam().context));
  EXPECT_EQ(
      said(),
      fmt::format("-t muster -p daemon.warning -- hook {} ended with status 64: the node was not "
                  "checked\n",
                  GetParam().context));
  folder.remove("said");
  for (const int status : {0, 1}) {
    folder.write_program("muster", fmt::format("#!/bin/sh\nexit {}\n", status));
    EXPECT_EQ(run().status, status);
  }
  EXPECT_FALSE(fs::exists(folder.path() / "said"));
}

TEST_P(HookScript, IgnoresTheLogger) {
  folder.write_program("muster", "#!/bin/sh\nexit 64\n");
  for (const auto* logger : {"exit 1", "kill -KILL $$", "trap '' TERM\nsleep 100 & wait; wait"}) {
    folder.write_program("logger", fmt::format("#!/bin/sh\n{}\n", logger));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(run().status, 0) << logger;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60)) << logger;
  }
}

// Slurm's time limit: SIGTERM for the whole group, which must not look like success.
TEST_P(HookScript, FailsWhenSlurmEndsIt) {
  folder.write_program("muster", "#!/bin/sh\ntrap 'exit 0' TERM\necho begun\nsleep 100 & wait\n");
  Process process({folder.path("hook")}, {}, folder.path() / "out");
  ASSERT_TRUE(wait_for([&] { return !content_of(folder.path() / "out").empty(); }));
  ::kill(-process.pid(), SIGTERM);
  EXPECT_EQ(process.wait(kPatience), 128 + SIGTERM);
}

TEST_P(HookScript, NeedsNoOutput) {
  folder.write_program("muster", "#!/bin/sh\nexit 3\n");
  Process process({"/bin/sh", "-c", fmt::format("exec {}/hook >&- 2>&-", folder.path().string())},
                  {}, folder.path() / "out");
  EXPECT_EQ(process.wait(kPatience), 0);
}

INSTANTIATE_TEST_SUITE_P(Each, HookScript,
                         ::testing::Values(Hook{"prolog", "prolog"}, Hook{"epilog", "epilog"},
                                           Hook{"health_check", "periodic"}),
                         [](const auto& it) { return std::string(it.param.name); });

TEST(SlurmHooks, DrainOneNodeWithItsReasonAndTheJobRunsElsewhere) {
  if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
  // Stands in for muster on a sick n1. The shipped hooks look for it at an absolute path.
  constexpr const char* kMuster =
      "#!/bin/sh\n"
      "[ \"$SLURMD_NODENAME $2\" = \"n1 prolog\" ] || exit 0\n"
      "/usr/bin/scontrol update nodename=n1 state=drain reason='muster: x.y: bad'\n"
      "exit 1\n";
  // A hook may name a file beside itself.
  const fs::path beside = "${0%/*}/muster";
  Cluster cluster({.nodes = 2,
                   .programs = {{"muster", kMuster},
                                {"prolog", shipped_hook("prolog", beside)},
                                {"epilog", shipped_hook("epilog", beside)},
                                {"health_check", shipped_hook("health_check", beside)}},
                   .prolog = "prolog",
                   .epilog = "epilog",
                   .health_check = "health_check",
                   .health_interval_s = 2});
  ASSERT_EQ(cluster.trouble(), "");
  const auto id = cluster.submit(cluster.write("job", "#!/bin/sh\necho ran on $SLURMD_NODENAME\n"));
  ASSERT_NE(id, "") << cluster.refusal();
  const auto job = cluster.wait_for_job(id);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, "COMPLETED");
  EXPECT_EQ(job->nodes, "n2");
  EXPECT_EQ(job->restarts, 1);
  EXPECT_EQ(cluster.output_of(id), "ran on n2\n");
  EXPECT_TRUE(cluster.wait_until("n1", [](const auto& node) { return node.is("drained"); }));
  EXPECT_EQ(cluster.nodes().at("n1").reason, "muster: x.y: bad");
  EXPECT_TRUE(cluster.wait_until("n2", [](const auto& node) { return node.is("idle"); }));
}

}  // namespace
}  // namespace muster::e2e
