// SPDX-License-Identifier: Apache-2.0
// The command lines of the commands that talk to Slurm.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/base/units.hpp"
#include "tests/checks/app/parsing.hpp"

namespace muster::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(HookParseTest, TakesEveryContextOfSlurm) {
  for (const auto* context : {"prolog", "epilog", "periodic", "boot"}) {
    EXPECT_EQ(parsed<HookCommand>({"hook", context}).context, context);
  }
}

TEST(HookParseTest, ActsOnThisNodeByDefault) {
  const auto hook = parsed<HookCommand>({"hook", "prolog"});
  EXPECT_EQ(hook.root, "/");
  EXPECT_EQ(hook.profile, "");
  EXPECT_EQ(hook.state, "");
  EXPECT_EQ(hook.nhc_conf, "");
  EXPECT_FALSE(hook.dry_run);
}

TEST(HookParseTest, TakesEveryOption) {
  const auto hook = parsed<HookCommand>(
      {"hook", "--dry-run", "periodic", "--profile=generic", "--set", "host.memory.tolerance=3%",
       "--set=host.disk.fail_as=warn", "--root", "/tmp/n", "--nhc-conf", "nhc.conf", "--nvml",
       "/tmp/nvml.so", "--state", "/run/m"});
  EXPECT_TRUE(hook.dry_run);
  EXPECT_EQ(hook.context, "periodic");
  EXPECT_EQ(hook.profile, "generic");
  EXPECT_THAT(hook.settings, ElementsAre("host.memory.tolerance=3%", "host.disk.fail_as=warn"));
  EXPECT_EQ(hook.nhc_conf, "nhc.conf");
  EXPECT_EQ(hook.root, "/tmp/n");
  EXPECT_EQ(hook.nvml, "/tmp/nvml.so");
  EXPECT_EQ(hook.state, "/run/m");
}

TEST(HookParseTest, RefusesOtherContexts) {
  constexpr auto* kExpects = "hook: expected one of prolog|epilog|periodic|boot";
  EXPECT_THAT(refusal({"hook"}), StartsWith(kExpects));
  EXPECT_THAT(refusal({"hook", "prolog", "epilog"}), StartsWith(kExpects));
  EXPECT_THAT(refusal({"hook", "manual"}), HasSubstr("got \"manual\""));
  EXPECT_THAT(refusal({"hook", "prolgo"}), HasSubstr("did you mean prolog?"));
  EXPECT_THAT(refusal({"hook", "prolog", "--set", "memory"}),
              StartsWith("hook: --set: invalid setting \"memory\", expected KEY=VALUE"));
}

TEST(HookParseTest, CheckSetupExcludesAContext) {
  EXPECT_TRUE(parsed<HookCommand>({"hook", "--check-setup"}).check_setup);
  EXPECT_THAT(refusal({"hook", "prolog", "--check-setup"}),
              StartsWith("hook: --check-setup changes nothing, and excludes a context"));
}

TEST(DrainParseTest, ExpandsListsAsSlurmWritesThem) {
  const auto drain = parsed<DrainCommand>(
      {"drain", "gpu-[007-009],login1", "hb[1,3]", "--reason", "swapping a cable", "--dry-run"});
  EXPECT_THAT(drain.nodes, ElementsAre("gpu-007", "gpu-008", "gpu-009", "login1", "hb1", "hb3"));
  EXPECT_EQ(drain.reason, "swapping a cable");
  EXPECT_TRUE(drain.dry_run);
}

TEST(DrainParseTest, NeedsAReason) {
  EXPECT_THAT(refusal({"drain", "gpu-007"}), StartsWith("drain: --reason is missing"));
  EXPECT_THAT(refusal({"drain", "gpu-007", "--reason", "  "}),
              StartsWith("drain: --reason is missing"));
  EXPECT_NE(refusal({"drain", "gpu-007", "--reason"}), "accepted");
}

TEST(DrainParseTest, AReportExcludesNodesAndAReason) {
  EXPECT_EQ(parsed<DrainCommand>({"drain", "--report", "locate.json"}).report, "locate.json");
  EXPECT_THAT(refusal({"drain", "--report", "-", "gpu-007"}),
              StartsWith("drain: --report names nodes and reasons"));
  EXPECT_THAT(refusal({"drain", "--report", "-", "--reason", "why"}),
              StartsWith("drain: --report names nodes and reasons"));
}

TEST(DrainParseTest, NeedsAListOfNodes) {
  EXPECT_THAT(refusal({"drain", "--reason", "why"}),
              StartsWith("drain: expected nodes, such as gpu-["));
  for (const auto* list : {"gpu-[001-", "gpu-]1", "gpu-[3-1]", "gpu-[a-b]", "", "gpu-[]"}) {
    EXPECT_THAT(refusal({"drain", list, "--reason", "why"}), StartsWith("drain: ")) << list;
  }
}

TEST(ResumeParseTest, TakesNodesWithoutAReason) {
  EXPECT_THAT(parsed<ResumeCommand>({"resume", "n[1-2]"}).nodes, ElementsAre("n1", "n2"));
  EXPECT_THAT(refusal({"resume"}), StartsWith("resume: expected nodes, such as gpu-["));
  EXPECT_THAT(refusal({"resume", "n1", "--reason", "well"}),
              StartsWith("resume: unknown option --reason"));
  EXPECT_EQ(parsed<ResumeCommand>({"resume", "--check", "ib.rate"}).check, "ib.rate");
  EXPECT_THAT(parsed<ResumeCommand>({"resume", "--check=ib.rate", "n1"}).nodes, ElementsAre("n1"));
  EXPECT_THAT(refusal({"resume", "--check", "ib.rte"}),
              StartsWith("resume: --check: no check ib.rte; did you mean ib.rate?"));
}

TEST(HistoryParseTest, CoversAllNodesAndTimesByDefault) {
  const auto history = parsed<HistoryCommand>({"history"});
  EXPECT_THAT(history.nodes, IsEmpty());
  EXPECT_EQ(history.since, std::nullopt);
  EXPECT_EQ(history.form, EventForm::text);
}

TEST(HistoryParseTest, TakesNodesATimeAndAFormat) {
  const auto history =
      parsed<HistoryCommand>({"history", "n[1-2]", "--since", "24h", "--format=json"});
  EXPECT_THAT(history.nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(history.since, Seconds{24.0 * 3600});
  EXPECT_EQ(history.form, EventForm::json);
}

TEST(HistoryParseTest, GoesBackFourHundredDays) {
  for (const auto& [word, expected] :
       {std::pair{"90s", 90.0}, std::pair{"30min", 1800.0}, std::pair{"36 h", 1.5 * kDay},
        std::pair{"7d", 7 * kDay}, std::pair{"400 d", 400 * kDay}}) {
    EXPECT_EQ(parsed<HistoryCommand>({"history", "--since", word}).since, Seconds{expected});
    EXPECT_EQ(parsed<EventsCommand>({"events", "--since", word}).since, Seconds{expected});
  }
  for (const auto* word : {"401d", "9601h", "0s", "-1d", "7", "1 year", "d"}) {
    EXPECT_THAT(
        refusal({"events", "--since", word}),
        StartsWith(fmt::format("events: --since: invalid time \"{}\", expected 90s", word)));
  }
}

TEST(HistoryParseTest, RefusesATimeWithoutAUnitAndAnUnknownFormat) {
  EXPECT_THAT(refusal({"history", "--since", "24"}), StartsWith("history: --since: "));
  EXPECT_THAT(refusal({"history", "--format", "jsn"}),
              StartsWith("history: --format: expects text|json, got \"jsn\"; did you mean json?"));
  EXPECT_THAT(refusal({"history", "--follow"}), StartsWith("history: unknown option --follow"));
}

TEST(EventsParseTest, FollowsOnDemand) {
  EXPECT_FALSE(parsed<EventsCommand>({"events"}).follow);
  const auto events = parsed<EventsCommand>({"events", "--follow", "n1", "--format", "json"});
  EXPECT_TRUE(events.follow);
  EXPECT_THAT(events.nodes, ElementsAre("n1"));
  EXPECT_EQ(events.form, EventForm::json);
}

TEST(HostfileParseTest, TakesAListOrAPartition) {
  EXPECT_THAT(parsed<HostfileCommand>({"hostfile", "n[1-2]", "--slots", "8"}).nodes,
              ElementsAre("n1", "n2"));
  EXPECT_EQ(parsed<HostfileCommand>({"hostfile", "--partition", "gpu"}).partition, "gpu");
  EXPECT_THAT(refusal({"hostfile", "n1", "--partition", "gpu"}),
              StartsWith("hostfile: a list and --partition exclude each other"));
}

TEST(HostfileParseTest, SlotsAreANumberOfProcesses) {
  EXPECT_EQ(parsed<HostfileCommand>({"hostfile"}).slots, std::nullopt);
  EXPECT_EQ(parsed<HostfileCommand>({"hostfile", "--slots=65536"}).slots, 65536);
  for (const auto* slots : {"0", "-1", "65537", "eight", "8x", "99999999999999999999"}) {
    EXPECT_THAT(refusal({"hostfile", "--slots", slots}), StartsWith("hostfile: ")) << slots;
  }
}

TEST(SweepParseTest, RunsOnePassByDefault) {
  const auto sweep = parsed<SweepCommand>({"sweep"});
  EXPECT_FALSE(sweep.status);
  EXPECT_FALSE(sweep.dry_run);
  EXPECT_EQ(sweep.form, EventForm::text);
}

TEST(SweepParseTest, TakesEveryOption) {
  const auto sweep = parsed<SweepCommand>(
      {"sweep", "--status", "--format=json", "--root", "/tmp/site", "--state", "/run/m"});
  EXPECT_TRUE(sweep.status);
  EXPECT_EQ(sweep.form, EventForm::json);
  EXPECT_EQ(sweep.root, "/tmp/site");
  EXPECT_EQ(sweep.state, "/run/m");
  EXPECT_TRUE(parsed<SweepCommand>({"sweep", "--dry-run"}).dry_run);
}

TEST(SweepParseTest, RefusesContradictoryOptions) {
  EXPECT_THAT(refusal({"sweep", "--status", "--dry-run"}),
              StartsWith("sweep: --status changes nothing, and excludes --dry-run"));
  EXPECT_NE(refusal({"sweep", "n1"}), "accepted");
}

TEST(SlurmHelpTest, ShowsTheUsageOfEachCommand) {
  for (const auto* command :
       {"hook", "drain", "resume", "status", "history", "events", "hostfile", "sweep"}) {
    EXPECT_THAT(parsed<PrintCommand>({"help", command}).text,
                StartsWith(fmt::format("Usage: muster {}", command)));
  }
}

}  // namespace
}  // namespace muster::app
