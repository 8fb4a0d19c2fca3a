// SPDX-License-Identifier: Apache-2.0
// `muster hook` with a configuration of NHC, against fakes of Slurm's programs.
#include <gmock/gmock.h>

#include <map>

#include "tests/slurm/commands/fake_slurm.hpp"

namespace muster::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::string_view kLine = "* || check_hw_eth eth0\n";
constexpr std::string_view kUnknownLine = "* || check_this\n";

class HookNhcConfTest : public SlurmTest {
 protected:
  HookNhcConfTest() {
    dir_.write("root/proc/sys/kernel/random/boot_id", "8c5d8d1e-3f3a-4a53-a5b5-5a8f3f5c1f00\n");
    site("");
    dir_.write("root/sys/class/net/eth0/operstate", "up\n");
    dir_.write("root/sys/class/net/eth1/operstate", "up\n");
  }

  void site(std::string_view more) const {
    slurm_.site(
        fmt::format("  nhc_conf: /etc/nhc/nhc.conf\n  clean_runs: 2\n  spread: 0 s\n{}", more));
  }

  void lines(std::string_view text) const { dir_.write("root/etc/nhc/nhc.conf", text); }

  int hook(std::string context) { return run({.context = std::move(context)}); }

  // The planned action, without the second that a drain takes.
  std::string would_do(HookCommand command) {
    command.dry_run = true;
    EXPECT_EQ(run(std::move(command)), 0);
    return caller_.out();
  }

  int run(HookCommand command) {
    command.profile = "generic";
    return SlurmTest::hook(std::move(command));
  }
};

TEST_F(HookNhcConfTest, ALineThatFailsDrainsAndResumesOnceItHolds) {
  lines(kLine);
  dir_.remove("root/sys/class/net/eth0");
  EXPECT_EQ(hook("prolog"), 1);
  const auto failed = fmt::format("no interface eth0 ({}:1)", path("root/etc/nhc/nhc.conf"));
  EXPECT_THAT(slurm_.node(), AllOf(StartsWith("n7|main|drained|root|"),
                                   HasSubstr("|muster: nhc.check_hw_eth eth0: no interface eth0")));
  EXPECT_EQ(hook("periodic"), 0);
  dir_.write("root/sys/class/net/eth0/operstate", "up\n");
  EXPECT_EQ(hook("periodic"), 0);
  EXPECT_THAT(slurm_.node(), StartsWith("n7|main|drained|"));
  EXPECT_EQ(hook("periodic"), 0);
  EXPECT_EQ(slurm_.node(), "n7|main|idle|Unknown|Unknown|none\n");
  EXPECT_THAT(events(), ElementsAre(AllOf(StartsWith("drained prolog: "), HasSubstr(failed)),
                                    StartsWith("kept periodic: "),
                                    "kept periodic: nhc.check_hw_eth eth0: clean run 1 of 2",
                                    AllOf(StartsWith("resumed periodic: "),
                                          HasSubstr("nhc.check_hw_eth passes"))));
}

// By the profile's checks this node would be undecided, because next to nothing is known about it.
TEST_F(HookNhcConfTest, OnlyTheLinesAreJudged) {
  lines(kLine);
  site("  unknown: {\"*\": drain}\n");
  for (const auto* context : {"prolog", "epilog", "periodic", "boot"}) {
    EXPECT_EQ(hook(context), 0) << context;
  }
  EXPECT_THAT(slurm_.node(), StartsWith("n7|main|idle|"));
  EXPECT_THAT(caller_.out(), HasSubstr("muster: healthy"));
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(HookNhcConfTest, AnUnknownLineKeepsTheNodeUnlessTheSiteWantsADrain) {
  lines(fmt::format("{}{}", kLine, kUnknownLine));
  EXPECT_EQ(hook("periodic"), 0);
  EXPECT_EQ(hook("prolog"), 0);
  EXPECT_THAT(slurm_.node(), StartsWith("n7|main|idle|"));
  EXPECT_THAT(caller_.out(), HasSubstr("nhc.check_this"));
  site("  unknown: {\"nhc.*\": drain}\n");
  EXPECT_THAT(would_do({.context = "periodic"}),
              HasSubstr("muster: dry_run n7: would drain: nhc.check_this: not judged: check_this"));
}

TEST_F(HookNhcConfTest, ADrainedNodeWaitsForTheLineThatItWasDrainedFor) {
  lines(kLine);
  dir_.remove("root/sys/class/net/eth0");
  EXPECT_EQ(hook("periodic"), 0);
  dir_.write("root/proc/loadavg", "0.10 0.10 0.10 1/100 1000\n");
  lines("* || check_ps_loadavg 100\n");
  for (int run = 0; run < 3; ++run) EXPECT_EQ(hook("boot"), 0);
  EXPECT_THAT(slurm_.node(), StartsWith("n7|main|drained|"));
  EXPECT_THAT(events(), ElementsAre(StartsWith("drained periodic: "),
                                    "kept boot: context boot did not run nhc.check_hw_eth"));
}

TEST_F(HookNhcConfTest, AFileThatCannotBeReadIsTroubleOfMuster) {
  EXPECT_EQ(hook("prolog"), 0);
  EXPECT_THAT(events(),
              ElementsAre(AllOf(StartsWith("trouble prolog: NHC's configuration: "),
                                HasSubstr("/etc/nhc/nhc.conf: No such file or directory"))));
  site("  on_trouble: fail\n");
  EXPECT_EQ(hook("prolog"), 1);
  EXPECT_THAT(slurm_.node(), StartsWith("n7|main|idle|"));
}

TEST_F(HookNhcConfTest, TheCommandLineComesBeforeTheSite) {
  lines(kUnknownLine);
  dir_.write("own.conf", "* || check_hw_eth eth9\n");
  EXPECT_THAT(would_do({.context = "prolog", .nhc_conf = path("own.conf")}),
              HasSubstr("muster: dry_run n7: would drain: nhc.check_hw_eth eth9: "));
}

TEST_F(HookNhcConfTest, ThePathInTheRulesIsAbsolute) {
  dir_.write("root/etc/muster/muster.yaml",
             "schema: muster.site/1\nslurm:\n  nhc_conf: nhc.conf\n");
  EXPECT_EQ(hook("prolog"), 0);
  EXPECT_THAT(caller_.out(),
              HasSubstr("muster.yaml:3: 'slurm.nhc_conf' is \"nhc.conf\"; write an absolute path"));
}

// Which tests a hook asks for, and until when it may then take.
TEST_F(HookNhcConfTest, EpilogsAndBootChecksRunTheSitesTestsWithinTheirOwnBudget) {
  lines(kLine);
  site("  epilog_tests: gpu.copy\n  boot_tests: gpu.*\n  tests_budget: 40 s\n");

  struct Asked {
    std::string tests;
    double seconds = 0;
  };

  std::map<std::string, Asked> asked;
  for (const auto* context : {"prolog", "epilog", "periodic", "boot"}) {
    const auto caller = this->caller();
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    const CheckNode look = [&](const HookCommand& command, const std::string& drained_for,
                               const Caller& by, Deadline& until) {
      asked[command.context] = {
          command.tests, std::chrono::duration<double>(deadline.when() - caller.started).count()};
      auto plain = command;
      plain.tests.clear();
      auto checked = check_node(plain, drained_for, by, until);
      if (checked) checked->tested = std::chrono::seconds(7);
      return checked;
    };
    const HookCommand command{.context = context,
                              .profile = "generic",
                              .root = path("root"),
                              .state = path("state"),
                              .dry_run = true};
    EXPECT_EQ(run_hook(command, caller, deadline, look), 0);
    const double left = std::chrono::duration<double>(deadline.when() - caller.started).count();
    const bool tests = !asked[context].tests.empty();
    EXPECT_NEAR(asked[context].seconds - left, tests ? 33 : -7, 0.01) << context;
  }
  EXPECT_EQ(asked["prolog"].tests, "");
  EXPECT_EQ(asked["periodic"].tests, "");
  EXPECT_EQ(asked["epilog"].tests, "gpu.copy");
  EXPECT_EQ(asked["boot"].tests, "gpu.*");
  EXPECT_NEAR(asked["epilog"].seconds, 25 + 40, 0.01);
}

TEST_F(HookNhcConfTest, TestsThatDoNotRunAreReportedOnceADay) {
  lines(kLine);
  site("  epilog_tests: gpu.copy\n");
  const CheckNode look = [&](HookCommand command, const std::string& drained_for, const Caller& by,
                             Deadline& until) {
    command.tests.clear();
    auto checked = check_node(command, drained_for, by, until);
    if (checked) {
      checked->report.findings.push_back({.check = "bench.completion",
                                          .device = "node",
                                          .outcome = Outcome::unknown,
                                          .message = "muster-bench: not found"});
    }
    return checked;
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(SlurmTest::hook({.context = "epilog", .profile = "generic"}, look), 0);
  }
  EXPECT_THAT(events(), ElementsAre("trouble epilog: bench.completion: muster-bench: not found"));
}

}  // namespace
}  // namespace muster::app
