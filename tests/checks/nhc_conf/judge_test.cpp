// SPDX-License-Identifier: Apache-2.0
// Whole configurations on literal nodes: which lines run, in which order, and what the verdict is.
#include "checks/nhc_conf/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/printers.hpp"

namespace muster::nhc::judge_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Snapshot node() {
  return {.identity = observed(Identity{.hostname = "n3"}),
          .cpu = observed(Cpu{.sockets = 2U, .cores = 8U, .threads = 8U}),
          .disks = observed(Disks{.nvme = {{.name = "nvme0n1",
                                            .controller = "nvme0",
                                            .state = std::string("live"),
                                            .size_bytes = std::uint64_t{1} << 40U,
                                            .read_only = false}}}),
          .network = observed(Network{.interfaces = {{.name = "eth0"}}})};
}

Report judged(std::string_view text, const Profile& profile = {}) {
  return judge(node(), profile, parse_config("nhc.conf", text), "manual");
}

std::vector<std::string> ids(const Report& report) {
  std::vector<std::string> names;
  for (const auto& check : report.checks) {
    names.push_back(fmt::format("{} {}", to_string(check.outcome), check.id));
  }
  return names;
}

// The only finding of a check.
std::string said(const Report& report, std::string_view check) {
  const auto found = std::ranges::find(report.findings, check, &Finding::check);
  return found == report.findings.end()
             ? ""
             : fmt::format("{}: {}", to_string(found->outcome), found->message);
}

TEST(NhcJudgeTest, ReportsInTheFilesOrderWithThePlaceOfEachLine) {
  const auto report = judged(
      "# hardware\n* || check_hw_eth eth0\n* || check_nvme_count 1\nx* || check_hw_eth eth9\n"
      "{n[1-4]} || check_hw_cpuinfo 2 8 8\n* || check_hw_eth eth0\n");
  EXPECT_THAT(ids(report),
              ElementsAre("pass nhc.check_hw_eth", "pass host.nvme", "pass nhc.check_hw_cpuinfo"));
  EXPECT_EQ(said(report, "nhc.check_hw_cpuinfo"),
            "pass: 2 sockets, 8 cores, 8 threads (nhc.conf:5)");
  EXPECT_EQ(report.verdict, Verdict::healthy);
  EXPECT_EQ(report.node, "n3");
}

TEST(NhcJudgeTest, AFailureIsUnhealthyWhateverIsUnknown) {
  const auto report = judged("* || check_hw_eth eth9\n* || check_whatever\n");
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_EQ(report.findings.front().check, "nhc.check_hw_eth");
}

TEST(NhcJudgeTest, TheLimitsOfALineAreThoseOfTheCheck) {
  EXPECT_EQ(judged("* || check_nvme_count 2\n").verdict, Verdict::unhealthy);
  EXPECT_EQ(judged("* || check_nvme_count 1\n").verdict, Verdict::healthy);
}

TEST(NhcJudgeTest, ALineRunsAChecksThatTheProfileDisabled) {
  Profile profile;
  profile.policies["host.nvme"].enabled = false;
  EXPECT_EQ(judged("* || check_nvme_count 2\n", profile).verdict, Verdict::unhealthy);
}

TEST(NhcJudgeTest, TwoLinesWithDifferentLimitsAreBothJudged) {
  for (const auto* lines : {"* || check_nvme_count 1\n* || check_nvme_count 2\n",
                            "* || check_nvme_count 2\n* || check_nvme_count 1\n"}) {
    const auto report = judged(lines);
    EXPECT_THAT(ids(report), ElementsAre("fail host.nvme")) << lines;
    EXPECT_EQ(report.verdict, Verdict::unhealthy);
  }
  EXPECT_EQ(judged("* || check_nvme_count 1\n* || check_nvme_count 1\n").verdict, Verdict::healthy);
}

TEST(NhcJudgeTest, ALimitOfALineFailsWhateverTheProfileMakesOfItsOwn) {
  Profile profile;
  profile.policies["host.nvme"].fail_as = Outcome::warn;
  EXPECT_EQ(judged("* || check_nvme_count 2\n", profile).verdict, Verdict::unhealthy);
}

TEST(NhcJudgeTest, AByteOrderMarkHidesNoLine) {
  EXPECT_EQ(judged("\xEF\xBB\xBF* || check_hw_eth eth9\n").verdict, Verdict::unhealthy);
  EXPECT_EQ(judged("\xEF\xBB\xBF* || check_hw_eth eth0\n").verdict, Verdict::healthy);
}

struct Case {
  std::string_view command, check, why;
};

class NhcUnjudgedTest : public ::testing::TestWithParam<Case> {};

TEST_P(NhcUnjudgedTest, IsNamedAndLeavesTheNodeUndecided) {
  const auto& [command, check, why] = GetParam();
  const auto report = judged(fmt::format("* || check_hw_eth eth0\n* || {}\n", command));
  EXPECT_EQ(said(report, check), fmt::format("unknown: not judged: {} (nhc.conf:2)", why));
  EXPECT_EQ(report.verdict, Verdict::unknown);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, NhcUnjudgedTest,
    ::testing::Values(
        Case{"check_hw_ethh eth0", "nhc.check_hw_ethh",
             "there is no check check_hw_ethh; did you mean check_hw_eth?"},
        Case{"check_zzz", "nhc.check_zzz", "there is no check check_zzz"},
        Case{"/usr/bin/true", "nhc./usr/bin/true",
             "/usr/bin/true is no check; muster runs commands by check_cmd_status and "
             "check_cmd_output alone"},
        Case{"check_a | check_b", "nhc.line", "\"|\" needs a shell, and muster runs none"},
        Case{"check_cmd_status -r 0 true", "nhc.check_cmd_status",
             "the environment probe says absent: not observed"},
        Case{"check_hw_gm myri0", "nhc.check_hw_gm", "Myrinet is not observed"},
        Case{"check_hw_eth", "nhc.check_hw_eth", "check_hw_eth takes 1 argument, got 0"},
        Case{"check_hw_cpuinfo 1 2 3 4", "nhc.check_hw_cpuinfo",
             "check_hw_cpuinfo takes 0 to 3 arguments, got 4"},
        Case{"check_file_test -e", "nhc.check_file_test",
             "check_file_test takes at least 2 arguments, got 1"},
        Case{"check_nvme_count many", "nhc.check_nvme_count",
             "expects a whole number, got \"many\""},
        Case{"check_hw_cpuinfo $COUNT", "nhc.check_hw_cpuinfo", "the variable $COUNT is not known"},
        Case{"check_hw_physmem 1 2", "nhc.check_hw_physmem",
             "the memory probe says absent: not observed"}));

TEST(NhcJudgeTest, BenchmarksAreLeftOutByNameWhateverTheirArguments) {
  const auto report = judged(
      "* || check_hw_eth eth0\n* || check_nccl_allreduce 460.0 1 16G $ROOT/topology.xml\n"
      "* || check_rccl_allreduce 300\n* || check_gpu_bw 48 335\n");
  EXPECT_EQ(said(report, "nhc.check_nccl_allreduce"),
            "skip: not judged: a benchmark, which is run with --active only (nhc.conf:2)");
  EXPECT_EQ(said(report, "nhc.check_gpu_bw"),
            "skip: not judged: a benchmark, which is run with --active only (nhc.conf:4)");
  EXPECT_EQ(said(report, "nhc.check_rccl_allreduce"),
            "skip: not judged: a benchmark of a kind that muster-bench has none of: --active does "
            "not run it either (nhc.conf:3)");
  EXPECT_EQ(report.verdict, Verdict::healthy);
}

TEST(NhcJudgeTest, UnknownsCountEvenWhereTheProfileCountsNone) {
  Profile profile;
  profile.contexts["manual"].count_unknown = {};
  const auto report = judged("* || check_hw_eth eth0\n* || check_zzz\n", profile);
  EXPECT_EQ(report.verdict, Verdict::unknown);
}

TEST(NhcJudgeTest, UnknownsCountOfTheChecksThatLinesStandForToo) {
  auto snapshot = node();
  snapshot.disks = {.status = Status::timeout, .reason = "it hung", .facts = {}};
  Profile profile;
  profile.contexts["manual"].count_unknown = {"pci.devices"};
  const auto config = parse_config("nhc.conf", "* || check_hw_eth eth0\n* || check_nvme_count 1\n");
  EXPECT_EQ(judge(snapshot, profile, config, "manual").verdict, Verdict::unknown);
}

// The others skip on such a node, and leave it to these.
TEST(NhcJudgeTest, GpusWithoutADriverOrThatAreGoneAreNeverHealthy) {
  auto snapshot = node();
  for (const auto* line :
       {"* || check_gpu_count 8\n", "* || check_gpu_count 8\n* || check_gpu_ecc\n"}) {
    const auto config = parse_config("nhc.conf", line);
    snapshot.nvml = {
        .status = Status::absent, .reason = "libnvidia-ml.so.1 is not there", .facts = {}};
    EXPECT_EQ(judge(snapshot, {}, config, "manual").verdict, Verdict::unhealthy) << line;
    snapshot.nvml = observed(Nvml{.trouble = "nvmlInit: the driver is not loaded"});
    EXPECT_EQ(judge(snapshot, {}, config, "manual").verdict, Verdict::unknown) << line;
    snapshot.nvml = observed(Nvml{});
    EXPECT_EQ(judge(snapshot, {}, config, "manual").verdict, Verdict::unhealthy) << line;
  }
}

TEST(NhcJudgeTest, ANodeWithoutRdmaDevicesHasNoPort) {
  auto snapshot = node();
  snapshot.infiniband.reason = "no /sys/class/infiniband";
  const auto report =
      judge(snapshot, {}, parse_config("nhc.conf", "* || check_hw_ib 400\n"), "manual");
  EXPECT_EQ(said(report, "nhc.check_hw_ib"), "fail: there is no port (nhc.conf:1)");
  EXPECT_EQ(judged("* || check_hw_ib 400\n").verdict, Verdict::unknown);
}

TEST(NhcJudgeTest, AFileWithoutALineForTheNodeJudgesNothing) {
  const auto report = judged("x* || check_hw_eth eth0\n");
  EXPECT_EQ(said(report, "nhc.line"), "unknown: not judged: no line is for n3 (nhc.conf:1)");
  EXPECT_EQ(report.verdict, Verdict::unknown);
}

TEST(NhcNeedsTest, AreThoseOfEveryLine) {
  const auto needs = needs_of(parse_config("nhc.conf",
                                           "a || check_hw_cpuinfo 1\nb || check_nvme_count 8\n"
                                           "c || check_file_test -e /etc/x\n* || check_zzz\n"));
  EXPECT_EQ(needs.probes, Probe::identity | Probe::cpu | Probe::disks | Probe::environment);
  EXPECT_THAT(needs.files, ElementsAre("/etc/x"));
  EXPECT_THAT(needs_of(parse_config("nhc.conf", "")).files, IsEmpty());
  const auto contents =
      needs_of(parse_config("nhc.conf", "* || check_file_contents /etc/y '*z*'\n"));
  EXPECT_THAT(contents.contents, ElementsAre("/etc/y"));
  EXPECT_THAT(contents.files, ElementsAre("/etc/y"));
  EXPECT_TRUE(needs_of(parse_config("nhc.conf", "* || check_ps_service sshd\n")).processes);
}

}  // namespace
}  // namespace muster::nhc::judge_test
