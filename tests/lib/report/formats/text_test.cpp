// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.hpp"

#include <algorithm>
#include <array>

#include "lib/report/summary.hpp"
#include "tests/lib/report/sample_report.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

TEST(TextReportTest, ShowsFindingsThenASummary) {
  EXPECT_EQ(
      to_text(sick_report()),
      "fail     ib.rate    mlx5_ib3  200 Gb/s (2X NDR), expected 400 Gb/s [NHC2005] -> reseat or "
      "replace the part\n"
      "unknown  host.edac  mc0       ue_count: Permission denied\n"
      "warn     host.swap  node      8 GiB of swap, expected none -> fix the configuration\n"
      "probe    kernel_log    timeout  2000.1 ms  no answer within 2 s\n"
      "\n"
      "checked  5 checks in 11.2 ms, context prolog: 1 fail, 1 unknown, 1 warn, 1 pass, 1 skip\n"
      "verdict  gpu-0007 is unhealthy (physical host GGBB90904476): 3 of 5 checks; not observed: "
      "kernel log\n"
      "profile  nd96isr_h100_v5: chassis asset tag says Azure; 8 x 10de:2330\n");
}

TEST(TextReportTest, IsShortForAHealthyNode) {
  EXPECT_EQ(to_text(healthy_report()),
            "checked  1 check in 3.0 ms, context manual: 1 pass\n"
            "verdict  cpu-1 is healthy: 1 of 1 check\n"
            "profile  generic: named by --profile\n");
  EXPECT_EQ(to_text(healthy_report(), {.quiet = true}),
            "verdict  cpu-1 is healthy: 1 of 1 check\n");
}

TEST(TextReportTest, ExplainsAnUnknownVerdict) {
  EXPECT_EQ(to_text(undecided_report(11)),
            "checked  11 checks in 3.0 ms, context manual: 11 skip\n"
            "verdict  cpu-1 is unknown: nothing here could be judged, 11 skipped\n"
            "profile  generic: named by --profile\n");
  EXPECT_EQ(to_text(undecided_report(0)),
            "checked  0 checks in 3.0 ms, context manual\n"
            "verdict  cpu-1 is unknown: no check was selected\n"
            "profile  generic: named by --profile\n");
}

TEST(TextReportTest, ShowsUnobservedFacts) {
  EXPECT_EQ(to_text(unseen_report()),
            "unknown  not observed: GPUs: a foreign root\n"
            "skip     not observed: verbs: libibverbs crashed\n"
            "\n"
            "checked  1 check in 3.0 ms, context manual: 1 pass\n"
            "verdict  gpu-0007 is unknown: 34 of 72 checks; not observed: GPUs, verbs\n"
            "profile  generic: named by --profile\n");
  EXPECT_EQ(to_text(unseen_report(), {.quiet = true}),
            "unknown  not observed: GPUs: a foreign root\n"
            "verdict  gpu-0007 is unknown: 34 of 72 checks; not observed: GPUs, verbs\n");
}

TEST(TextReportTest, NamesTheFileOfASnapshotFirst) {
  auto report = healthy_report();
  report.snapshot = "fleet/cpu-1.json";
  EXPECT_THAT(to_text(report), StartsWith("snapshot fleet/cpu-1.json\nchecked  "));
  EXPECT_EQ(to_text(report, {.quiet = true}),
            "snapshot fleet/cpu-1.json\nverdict  cpu-1 is healthy: 1 of 1 check\n");
}

TEST(TextReportTest, SortsFindings) {
  auto report = sick_report();
  std::ranges::reverse(report.findings);
  EXPECT_THAT(to_text(report), StartsWith("fail     ib.rate"));
}

TEST(TextReportTest, ShowsEverythingIfVerbose) {
  const auto text = to_text(sick_report(), {.verbose = true});
  EXPECT_THAT(text,
              AllOf(HasSubstr("pass     ib.present  node      8 HCAs\n"),
                    HasSubstr("skip     pci.acs     node      a hypervisor hides the switches\n"),
                    HasSubstr("probe    identity      ok       0.4 ms\n")));
}

TEST(TextReportTest, ShowsAPassWithARemedy) {
  Report report = healthy_report();
  report.findings.push_back({.check = "gpu.xid",
                             .device = "gpu3",
                             .outcome = Outcome::pass,
                             .message = "XID 31 of a program",
                             .remedy = Remedy::restart_app});
  EXPECT_THAT(to_text(report), HasSubstr("pass     gpu.xid  gpu3  XID 31 of a program"));
  EXPECT_THAT(to_text(report, {.quiet = true}), Not(HasSubstr("XID 31")));
}

TEST(TextReportTest, ShowsOnlyVerdictAndFailuresIfQuiet) {
  EXPECT_THAT(to_text(sick_report(), {.quiet = true}),
              AllOf(StartsWith("fail     ib.rate"), Not(HasSubstr("checked"))));
}

TEST(TextReportTest, AlwaysShowsGivenChecks) {
  constexpr std::array<std::string_view, 1> kAlways{"bench.job_all_reduce"};
  auto report = healthy_report();
  report.findings = {{.check = "bench.job_all_reduce",
                      .device = "job",
                      .outcome = Outcome::pass,
                      .message = "188 GB/s"}};
  const auto line = [&](Outcome outcome, bool quiet) {
    report.findings[0].outcome = outcome;
    const auto text = to_text(report, {.quiet = quiet, .always = kAlways});
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(line(Outcome::pass, false), "pass     bench.job_all_reduce  job  188 GB/s");
  EXPECT_EQ(line(Outcome::skip, false), "skip     bench.job_all_reduce  job  188 GB/s");
  EXPECT_EQ(line(Outcome::skip, true), "skip     bench.job_all_reduce  job  188 GB/s");
  EXPECT_EQ(line(Outcome::pass, true), "verdict  cpu-1 is healthy: 1 of 1 check");
  EXPECT_THAT(to_text(report), Not(HasSubstr("188 GB/s")));
}

TEST(TextReportTest, DescribesAJob) {
  auto report = healthy_report();
  report.node.reset();
  report.nodes = {"gpu-0001", "gpu-0002"};
  EXPECT_EQ(to_text(report, {.quiet = true}),
            "verdict  the job on gpu-0001, gpu-0002 is healthy: 1 of 1 check\n");
  report.verdict = Verdict::unhealthy;
  EXPECT_THAT(to_text(report, {.quiet = true}),
              HasSubstr(" is unhealthy: no single node is to blame; 1 of"));
  report.accused = {"gpu-0002"};
  EXPECT_THAT(to_text(report, {.quiet = true}),
              HasSubstr(" is unhealthy: because of findings on gpu-0002; 1 of"));
}

TEST(TextReportTest, NamesTheNodesOfAJob) {
  Report report;
  EXPECT_EQ(name_of(report), "(no name)");
  report.node = "a";
  report.nodes = {"a"};
  EXPECT_EQ(name_of(report), "a");
  for (int i = 2; i <= 16; ++i) report.nodes.push_back(fmt::format("a{}", i));
  EXPECT_EQ(name_of(report), "a,a[2-16]");
  report.nodes.clear();
  for (char c = 'a'; c <= 'z'; ++c) report.nodes.push_back(fmt::format("{}-node", c));
  EXPECT_EQ(name_of(report), "a-node, b-node, c-node and 23 more");
}

TEST(TextReportTest, ATrialIsNotJudged) {
  auto report = undecided_report(1);
  report.judged = false;
  EXPECT_THAT(to_text(report, {.quiet = true}), "verdict  not judged: no limit for this machine\n");
  report.measurements = measured_report().measurements;
  EXPECT_THAT(to_text(report, {.quiet = true}),
              "verdict  not judged: no limit for this machine, pass --min-busbw\n");
  EXPECT_EQ(to_npd(report), "not judged: no limit for this machine, pass --min-busbw\n");
  EXPECT_EQ(exit_status(report), kExitHealthy);
}

TEST(TextReportTest, HasColourOnlyOnRequest) {
  EXPECT_THAT(to_text(sick_report()), Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_text(sick_report(), {.colour = true}), StartsWith("\x1b[31mfail   \x1b[0m"));
}

TEST(TextReportTest, WrapsMessagesInTheirColumnOrOnTheirOwnLinesIfNarrow) {
  auto report = healthy_report();
  report.findings = {{.check = "host.sysctl",
                      .device = "node",
                      .outcome = Outcome::warn,
                      .message = "vm.zone_reclaim_mode is 1, expected 0 as the profile says"}};
  EXPECT_THAT(
      to_text(report, {.width = 80}),
      StartsWith(
          "warn     host.sysctl  node  vm.zone_reclaim_mode is 1, expected 0 as the profile\n"
          "                            says\n"));
  EXPECT_THAT(to_text(report, {.width = 60}),
              StartsWith("warn     host.sysctl  node\n"
                         "         vm.zone_reclaim_mode is 1, expected 0 as the\n"
                         "         profile says\n"));
}

TEST(TextReportTest, FitsTheTerminal) {
  auto report = sick_report();
  report.profile_evidence = {std::string(30, 'x'), std::string(30, 'y'), std::string(30, 'z')};
  report.probes[1].reason = "the device did not answer within the time that it was given here";
  const auto text = to_text(report, {.verbose = true, .width = 80});
  for (const auto line : split_lines(text)) {
    EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(TextReportTest, AlignsMessagesBehindLongDevices) {
  auto report = healthy_report();
  report.findings = {{.check = "host.services",
                      .device = "nvidia-fabricmanager.service",
                      .outcome = Outcome::fail,
                      .message = "is inactive"},
                     {.check = "host.services",
                      .device = "node",
                      .outcome = Outcome::unknown,
                      .message = "not judged"}};
  EXPECT_THAT(to_text(report),
              StartsWith("fail     host.services  nvidia-fabricmanager.service  is inactive\n"
                         "unknown  host.services  node                          not judged\n"));
}

TEST(TextReportTest, CutsALongMessage) {
  auto report = healthy_report();
  report.findings = {{.check = "host.load",
                      .device = "node",
                      .outcome = Outcome::warn,
                      .message = std::string(5000, 'x')}};
  EXPECT_LT(to_text(report).size(), 700U);
}

TEST(TextReportTest, KeepsHostileTextPrintable) {
  const auto text = to_text(hostile_report(), {.verbose = true});
  EXPECT_EQ(std::ranges::count(text, '\n'),
            std::ranges::count(to_text(sick_report(), {.verbose = true}), '\n'));
  EXPECT_THAT(split_lines(text),
              Each(testing::ResultOf(
                  [](std::string_view line) { return printable(line, 4000) == line; }, true)));
}

}  // namespace
}  // namespace muster
