// SPDX-License-Identifier: Apache-2.0
// gpu.xid judged by the shipped rules.

#include "checks/run.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/xid_node.hpp"

namespace muster::gpu_xid_test {
namespace {

using namespace xid_node;  // NOLINT(google-build-using-namespace): the node of this test

struct Case {
  unsigned code;
  std::string text;
  Outcome outcome;
  Remedy remedy;
  std::string fault_code{};
};

// Names its parameters in a test's output.
void PrintTo(const Case& each, std::ostream* out) { *out << each.code; }

class GpuXidCodeTest : public ::testing::TestWithParam<Case> {};

TEST_P(GpuXidCodeTest, IsJudgedByItsRule) {
  const auto& [code, text, outcome, remedy, fault_code] = GetParam();
  Snapshot snapshot = bare_metal({xid(9 * kHour, fmt::format("{}, {}", code, text))});
  // NVML's current state would override what the log requests.
  snapshot.nvml->gpus[0].recovery_action = absent();
  const Finding finding = only(snapshot);
  EXPECT_EQ(finding.device, "gpu0");
  EXPECT_EQ(finding.outcome, outcome) << finding.message;
  EXPECT_EQ(finding.remedy, remedy) << finding.message;
  EXPECT_EQ(finding.observed, Value(std::int64_t{code}));
  EXPECT_EQ(finding.code, fault_code);
  EXPECT_THAT(finding.message, HasSubstr(fmt::format("XID {} (", code)));
}

const std::string kMmu = "pid=7, name=python3, Ch 00000010, MMU Fault";
constexpr auto kApplication = Outcome::pass;
constexpr auto kRestart = Remedy::restart_app;
constexpr auto kReset = Remedy::reset_gpu;

INSTANTIATE_TEST_SUITE_P(
    ByNumber, GpuXidCodeTest,
    ::testing::Values(
        // Errors of programs.
        Case{13, kMmu, kApplication, kRestart}, Case{31, kMmu, kApplication, kRestart},
        Case{43, kMmu, kApplication, kRestart}, Case{45, kMmu, kApplication, kRestart},
        Case{68, kMmu, kApplication, kRestart}, Case{69, kMmu, kApplication, kRestart},
        Case{94, kMmu, Outcome::warn, kRestart, "NHC2012"},
        Case{109, kMmu, Outcome::fail, kReset, "NHC2001"},
        // Degraded or unknown.
        Case{63, "Row Remapper", Outcome::warn, Remedy::watch},
        Case{92, "High", Outcome::warn, Remedy::watch},
        Case{78, "vGPU", Outcome::warn, Remedy::fix_config},
        Case{171, "DRAM", Outcome::warn, Remedy::watch},
        Case{58, "unused", Outcome::warn, Remedy::watch},
        Case{9999, "unknown", Outcome::warn, Remedy::watch},
        // Fatal.
        Case{48, "DBE", Outcome::fail, kReset, "NHC2014"},
        Case{62, "PMU Halt", Outcome::fail, kReset, "NHC2001"},
        Case{64, "failed", Outcome::fail, Remedy::reseat_or_replace, "NHC2007"},
        Case{79, "lost", Outcome::fail, Remedy::reboot, "NHC2013"},
        Case{95, "Uncontained", Outcome::fail, kReset, "NHC2011"},
        Case{119, "Timeout", Outcome::fail, kReset, "NHC2001"},
        Case{120, "GSP", Outcome::fail, kReset, "NHC2001"},
        Case{140, "ECC", Outcome::fail, kReset, "NHC2001"},
        Case{54, "power", Outcome::fail, Remedy::reseat_or_replace, "NHC2001"}));

INSTANTIATE_TEST_SUITE_P(
    Decoded, GpuXidCodeTest,
    ::testing::Values(
        Case{154, "changed from 0x0 (None) to 0x1 (x)", Outcome::fail, kReset, "NHC2001"},
        Case{154, "changed from 0x0 to 0x2 (x)", Outcome::fail, Remedy::reboot, "NHC2001"},
        Case{154, "changed from 0x0 to 0x4 (x)", Outcome::fail, kReset, "NHC2001"},
        Case{154, "changed from 0x0 to 0x5 (x)", Outcome::fail, Remedy::restart_service, "NHC2001"},
        Case{154, "changed from 0x0 to 0x9 (x)", Outcome::fail, Remedy::reboot, "NHC2001"},
        Case{154, "unreadable", Outcome::fail, Remedy::reboot, "NHC2001"},
        Case{74, "NVLink: fatal error detected on link 14(0x1)", Outcome::fail, kReset, "NHC2016"},
        Case{74, "NVLink: non-fatal error on link 14", Outcome::warn, Remedy::watch, "NHC2016"},
        Case{74, "NVLink: error on link 14", Outcome::fail, kReset, "NHC2016"},
        Case{145, "RLW_REMAP Nonfatal XC0 i0 Link 02 (0x0 0x40 0x0)", Outcome::fail, kReset,
             "NHC2016"},
        Case{145, "RLW_REMAP Nonfatal XC0 i0 Link 02 (0x0 0x4 0x0)", Outcome::warn, Remedy::watch,
             "NHC2016"}));

TEST(GpuXidTest, IgnoresIrrelevantXids) {
  EXPECT_THAT(judge(node({xid(100, "14, Channel 00000001"), xid(200, "106, test"),
                          xid(300, "154, changed from 0x1 (GPU Reset Required) to 0x0 (None)"),
                          xid(400, "145, RLW_REMAP Nonfatal XC0 i0 Link 02 (0x0 0x100 0x0)"),
                          xid(500, "45, Ch 00000001 caused by previous Xid 149")})),
              ElementsAre(passes()));
}

TEST(GpuXidTest, NamesTheGpuTheProcessAndTheTime) {
  EXPECT_EQ(
      only(node({xid(9 * kHour, "31, pid=1234, name=python3, Ch 00000010, MMU Fault")})).message,
      "XID 31 (access to memory that is not mapped), application, 60 min ago; python3 (pid 1234); "
      "0001:00:00.0, GPU-0, serial 165092300");
}

TEST(GpuXidTest, NamesAGpuThatHasLeftTheBusByTheLogsWords) {
  Snapshot snapshot = node({line(9 * kHour, "NVRM: GPU at PCI:0009:00:00: GPU-b850f46d"),
                            line(9 * kHour, "NVRM: GPU Board Serial Number: 1650923012345"),
                            line(9 * kHour, "NVRM: Xid (PCI:0009:00:00): 79, lost")});
  const Finding finding = only(snapshot);
  EXPECT_EQ(finding.device, "0009:00:00.0");
  EXPECT_THAT(finding.message, HasSubstr("0009:00:00.0, GPU-b850f46d, serial 1650923012345"));
}

// The node's gpu1 was refused by NVML, so its address is unknown.
TEST(GpuXidTest, AGpuThatNvmlRefusedTakesOnlyALossThatCanBeItsOwn) {
  const auto lost = [](unsigned domain) {
    return line(9 * kHour, fmt::format("NVRM: Xid (PCI:000{}:00:00): 79, lost", domain));
  };

  struct Loss {
    const char* what;
    unsigned lost;
    void (*change)(Snapshot&);
    bool is_left;
  };

  const std::vector<Loss> cases{
      Loss{"the one on the bus that NVML does not list", 2, [](Snapshot&) {}, true},
      Loss{"another than that", 9, [](Snapshot&) {}, false},
      Loss{"one of two on the bus that NVML does not list", 2,
           [](Snapshot& node) {
             PciDevice another = node.pci->devices[1];
             another.address = "0003:00:00.0";
             node.pci->devices.push_back(another);
           },
           false},
      Loss{"one that has left the bus", 9, [](Snapshot& node) { node.pci->devices.pop_back(); },
           true},
      Loss{"the bus was not observed", 2, [](Snapshot& node) { node.pci = {}; }, true},
      Loss{"it was not refused, and has no address", 2,
           [](Snapshot& node) { node.nvml->gpus[1].lost.clear(); }, false}};
  for (const Loss& each : cases) {
    Snapshot snapshot = node({lost(each.lost)});
    snapshot.nvml->gpus[1] = {.index = 1, .lost = "nvmlDeviceGetHandleByIndex_v2: lost (15)"};
    each.change(snapshot);
    Profile two = profile();
    two.gpu->present.count = 2;
    const Findings findings = ask(checks::gpu_xid::check, snapshot, two);
    ASSERT_THAT(findings, SizeIs(1)) << each.what;
    const SeenBy present{.check = "gpu.present", .device = "gpu1"};
    EXPECT_EQ(std::ranges::count(findings[0].seen_by, present), each.is_left ? 1 : 0) << each.what;
  }
}

TEST(GpuXidTest, AVirtualMachineLeavesHardwareToItsProvider) {
  EXPECT_EQ(only(node({xid(9 * kHour, "79, lost")})).remedy, Remedy::report_to_provider);
  EXPECT_EQ(only(node({xid(9 * kHour, "64, failed")})).remedy, Remedy::report_to_provider);
  EXPECT_EQ(only(node({xid(9 * kHour, "95, Uncontained")})).remedy, Remedy::reboot);
}

TEST(GpuXidTest, OneIncidentIsOneFindingNamedByItsCause) {
  const Finding finding =
      only(node({xid(9 * kHour, "63, Row Remapper"), xid(9 * kHour + 1, "45, Ch 00000001"),
                 xid(9 * kHour + 2, "79, lost"), xid(9 * kHour + 3, "119, Timeout")}));
  EXPECT_EQ(finding.observed, Value(std::int64_t{79}));
  EXPECT_THAT(finding.message, HasSubstr(", with 45, 63, 119"));
}

TEST(GpuXidTest, CountsIncidentsAndLines) {
  auto storm = xid(8 * kHour, "31, MMU Fault");
  storm.repeats = 99999;
  storm.last_us = storm.time_us + 1'000'000;
  EXPECT_THAT(
      only(node({storm, xid(8 * kHour + 4, "31, other"), xid(9 * kHour, "31, again")})).message,
      HasSubstr("; 2 incidents (100001 lines)"));
}

TEST(GpuXidTest, AContainedErrorSettlesADoubleBitErrorNearIt) {
  const auto found = [](std::vector<KernelRecord> records) {
    const Finding finding = only(bare_metal(std::move(records)));
    return std::tuple(std::get<std::int64_t>(finding.observed), finding.outcome, finding.remedy);
  };
  const auto error = xid(9 * kHour, "48, DBE");
  const auto contained = xid(9 * kHour + 1, "94, Contained");
  EXPECT_EQ(found({error, contained}), std::tuple(48, Outcome::warn, Remedy::watch));
  EXPECT_EQ(found({error, contained, xid(9 * kHour + 2, "95, Uncontained")}),
            std::tuple(95, Outcome::fail, kReset));
  EXPECT_EQ(found({xid(9 * kHour, "94, Contained"), xid(9 * kHour + 4, "43, Ch 1"),
                   xid(9 * kHour + 8, "43, Ch 1"), xid(9 * kHour + 12, "48, DBE")}),
            std::tuple(48, Outcome::fail, kReset));
}

TEST(GpuXidTest, TheNameOfAProgramDecidesNothing) {
  EXPECT_EQ(
      only(node({xid(100, "74, pid=7, name=x, nonfatal, NVLink: fatal error on link 14")})).outcome,
      Outcome::fail);
  EXPECT_EQ(only(node({xid(100,
                           "149, pid=7, name=x, X Nonfatal y, NETIR_LINK_EVT Fatal XC0 i0 Link 08 "
                           "(0x004505c6 0x0)")}))
                .outcome,
            Outcome::fail);
}

TEST(GpuXidTest, ErrorsAfterALossArePartOfIt) {
  EXPECT_EQ(
      only(node({xid(100, "79, lost"), xid(200, "119, Timeout"), xid(300, "45, Ch 1")})).observed,
      Value(std::int64_t{79}));
}

TEST(GpuXidTest, FatalXidsCountSinceBootOthersInTheWindow) {
  Snapshot snapshot = node({xid(100, "79, lost"), xid(200, "31, MMU Fault", 1)});
  snapshot.identity->uptime_s = 72 * kHour;
  EXPECT_EQ(only(snapshot).observed, Value(std::int64_t{79}));
}

TEST(GpuXidTest, ReloadingTheDriverEndsFatalXids) {
  EXPECT_THAT(judge(node({xid(100, "79, lost"),
                          line(200, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535")})),
              ElementsAre(passes()));
  EXPECT_EQ(only(node({line(50, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535"),
                       xid(100, "79, lost")}))
                .outcome,
            Outcome::fail);
}

TEST(GpuXidTest, TheDriversWordThatNothingIsLeftToDoEndsItForThatGpu) {
  const auto recovered = xid(200, "154, changed from 0x1 (GPU Reset Required) to 0x0 (None)");
  EXPECT_THAT(judge(node({xid(100, "95, Uncontained"), recovered})), ElementsAre(passes()));
  EXPECT_EQ(only(node({xid(100, "95, Uncontained", 1), recovered})).device, "gpu1");
}

TEST(GpuXidTest, RemembersXidsThatAStormPushedOutOfTheLog) {
  Snapshot snapshot = node({xid(9 * kHour, "31, MMU Fault", 1)});
  snapshot.kernel_log->first_sequence = 100000;
  snapshot.kernel_log->first_us = static_cast<std::uint64_t>(8 * kHour * 1e6);
  snapshot.earlier.xids = {{.address = "0001:00:00.0",
                            .code = 79,
                            .boot_id = "boot-1",
                            .first_s = kHour,
                            .last_s = kHour,
                            .lines = 1,
                            .text = "GPU has fallen off the bus."}};
  const auto findings = judge(snapshot);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].device, "gpu0");
  EXPECT_EQ(findings[0].outcome, Outcome::fail);
}

TEST(GpuXidTest, GpusThatAreLostTogetherAreOneIncidentOfTheNode) {
  const Finding finding =
      only(bare_metal({xid(9 * kHour, "79, lost"), xid(9 * kHour + 2, "79, lost", 1)}));
  EXPECT_EQ(finding.device, "node");
  EXPECT_EQ(finding.outcome, Outcome::fail);
  EXPECT_EQ(finding.remedy, Remedy::reboot);
  EXPECT_THAT(finding.message, HasSubstr("XID 79 on 2 GPUs at once: gpu0, gpu1 fell off the bus"));
  EXPECT_THAT(judge(node({xid(8 * kHour, "79, lost"), xid(9 * kHour, "79, lost", 1)})), SizeIs(2));
}

RememberedXid in_job(std::string job, double hours_ago) {
  return {.address = "0001:00:00.0",
          .uuid = "GPU-0",
          .code = 31,
          .job = std::move(job),
          .boot_id = "boot-0",
          .wall_s = kNow - hours_ago * kHour};
}

TEST(GpuXidTest, TheSameErrorInSeveralJobsOnOneGpuIsAWarning) {
  Snapshot snapshot = node({xid(9 * kHour, "31, MMU Fault")});
  snapshot.environment->job = {
      {"SLURM_JOB_ID", "44"}, {"SLURM_JOB_GPUS", "0"}, {"SLURM_SCRIPT_CONTEXT", "epilog_slurmd"}};
  snapshot.earlier.jobs = {{.id = "44", .boot_id = "boot-1", .since_s = 8 * kHour}};
  snapshot.earlier.xids = {in_job("42", 20), in_job("42", 19)};
  EXPECT_EQ(only(snapshot).outcome, Outcome::pass) << "two jobs";
  snapshot.earlier.xids.push_back(in_job("43", 25));
  EXPECT_EQ(only(snapshot).outcome, Outcome::pass) << "the third is too old";
  snapshot.earlier.xids.push_back(in_job("43", 3));
  const Finding finding = only(snapshot);
  EXPECT_EQ(finding.outcome, Outcome::warn);
  EXPECT_EQ(finding.remedy, Remedy::watch);
  EXPECT_THAT(finding.message, HasSubstr("; job 44; "));
  EXPECT_THAT(finding.message, HasSubstr("; also in 3 jobs on this GPU: 42, 43, 44"));
}

TEST(GpuXidTest, CleanUpsWithoutAnotherErrorPointToTheFabricManager) {
  const Finding finding =
      only(node({xid(7 * kHour, "45, Ch 00000001"), xid(8 * kHour, "45, Ch 00000001"),
                 xid(9 * kHour, "45, Ch 00000001")}));
  EXPECT_EQ(finding.outcome, Outcome::warn);
  EXPECT_EQ(finding.remedy, Remedy::restart_service);
}

TEST(GpuXidTest, ASiteMayGiveANumberAnotherClass) {
  Profile strict = profile();
  strict.gpu->xid.classes = {{"94", "fatal"}};
  const auto findings =
      ask(checks::gpu_xid::check, node({xid(9 * kHour, "94, Contained")}), strict);
  EXPECT_EQ(findings.at(0).outcome, Outcome::fail);
}

TEST(GpuXidTest, LinesThatWereNotReadLeaveItUndecided) {
  Snapshot snapshot = node({});
  snapshot.kernel_log->lost = 7;
  EXPECT_THAT(judge(snapshot), ElementsAre(unknown()));
  snapshot.kernel_log->records = {xid(9 * kHour, "79, lost")};
  snapshot.xids = find_xids(*snapshot.kernel_log);
  EXPECT_EQ(only(snapshot).outcome, Outcome::fail) << "they cannot mend what others prove";
}

TEST(GpuXidTest, SkipsANodeThatHasNoGpu) {
  Profile none = profile();
  none.gpu->present.count = 0;
  Snapshot snapshot = node({});
  snapshot.nvml = {};
  EXPECT_THAT(ask(checks::gpu_xid::check, snapshot, none), ElementsAre(skips()));
  snapshot.kernel_log->records = {xid(9 * kHour, "79, lost")};
  snapshot.xids = find_xids(*snapshot.kernel_log);
  EXPECT_EQ(ask(checks::gpu_xid::check, snapshot, none).at(0).outcome, Outcome::fail);
}

// The checks that fail, each with its device.
std::vector<std::string> failures(const Snapshot& snapshot) {
  std::vector<std::string> found;
  const Report report = judge(
      snapshot, profile(), {.only = {"gpu.xid", "gpu.sxid", "gpu.ecc_*", "gpu.recovery_action"}});
  for (const auto& finding : report.findings) {
    if (finding.outcome != Outcome::fail) continue;
    found.push_back(
        fmt::format("{} {} {}", finding.check, finding.device, to_string(finding.remedy)));
  }
  return found;
}

TEST(GpuXidTest, TheDriversReactionIsNotASecondFault) {
  Snapshot snapshot = bare_metal({xid(9 * kHour, "119, Timeout"),
                                  xid(9 * kHour + 1, "154, changed from 0x0 (None) to 0x2 (x)")});
  snapshot.nvml->gpus[0].recovery_action = 2U;
  EXPECT_THAT(failures(snapshot), ElementsAre("gpu.xid gpu0 reboot"));
}

// A reset of a GPU leaves nothing in the log; the driver's own word does.
TEST(GpuXidTest, ARecoveryNoLongerAskedForWasDone) {
  const auto log = std::vector{xid(9 * kHour, "95, uncontained"),
                               xid(9 * kHour + 1, "154, changed from 0x0 (None) to 0x1 (x)")};
  Snapshot snapshot = bare_metal(log);
  snapshot.nvml->gpus[0].recovery_action = 1U;
  EXPECT_THAT(failures(snapshot), ElementsAre("gpu.xid gpu0 reset_gpu"));
  snapshot.nvml->gpus[0].recovery_action = 0U;
  EXPECT_THAT(failures(snapshot), ElementsAre());
  // Reports show a pass with a remedy.
  EXPECT_EQ(only(snapshot), finds(Outcome::pass, "gpu0", Remedy::watch, {95}));
  EXPECT_THAT(only(snapshot).message, HasSubstr("), withdrawn, 60 min ago"));
  // An older driver without this call.
  snapshot.nvml->gpus[0].recovery_action = absent();
  EXPECT_THAT(failures(snapshot), ElementsAre("gpu.xid gpu0 reset_gpu"));
  // An error after the request is not resolved.
  auto later = log;
  later.push_back(xid(9.5 * kHour, "62, halt"));
  Snapshot again = bare_metal(later);
  EXPECT_THAT(failures(again), ElementsAre("gpu.xid gpu0 reset_gpu"));
}

TEST(GpuXidTest, ALineInAnUnknownFormatIsUnknown) {
  Snapshot snapshot = bare_metal({});
  for (const unsigned facility : {1U, 0U}) {
    snapshot.kernel_log->records = {{.time_us = 1000000,
                                     .facility = facility,
                                     .text = "NVRM: Xid (PCI:0001:00:00) GPU fell off the bus"}};
    snapshot.xids = find_xids(*snapshot.kernel_log);
    const auto report = judge(snapshot, profile(), {.only = {"gpu.xid"}});
    EXPECT_EQ(report.findings.at(0).outcome, facility == 0 ? Outcome::unknown : Outcome::pass);
  }
}

TEST(GpuXidTest, ACallToDrainPeersNeedsAReset) {
  Snapshot snapshot =
      bare_metal({xid(9 * kHour, "154, changed from 0x0 (None) to 0x3 (Drain P2P)")});
  snapshot.nvml->gpus[0].recovery_action = absent();
  EXPECT_THAT(failures(snapshot), ElementsAre("gpu.xid gpu0 reset_gpu"));
  snapshot.nvml->gpus[0].recovery_action = 3U;
  EXPECT_THAT(failures(snapshot), ElementsAre("gpu.recovery_action gpu0 reset_gpu"));
}

TEST(GpuXidTest, TheCodeOfAnUncorrectedErrorShowsContainment) {
  for (const auto& [line, code] :
       {std::pair("94, contained", "NHC2012"), std::pair("95, uncontained", "NHC2011"),
        std::pair("48, double-bit", "NHC2014"), std::pair("31, MMU fault", "NHC2019")}) {
    Snapshot snapshot = bare_metal({xid(9 * kHour, line)});
    snapshot.nvml->gpus[0].ecc_volatile.dram_uncorrected = 1U;
    const auto report = judge(snapshot, profile(), {.only = {"gpu.ecc_uncorrectable"}});
    EXPECT_EQ(report.findings.at(0).code, code) << line;
  }
}

TEST(GpuXidTest, AFaultOfTheGpuIsOneFindingWithTheFurtherRemedy) {
  Snapshot snapshot = bare_metal({xid(9 * kHour, "64, failed")});
  snapshot.nvml->gpus[0].remapped_rows->failed = true;
  EXPECT_THAT(failures(snapshot), ElementsAre("gpu.ecc_remapped_rows gpu0 reseat_or_replace"));
  *snapshot.nvml->gpus[0].remapped_rows = {.pending = true};
  EXPECT_THAT(failures(snapshot), ElementsAre("gpu.ecc_remapped_rows gpu0 reseat_or_replace"));
}

TEST(GpuXidTest, AMemoryErrorAndItsRepairAreOneFault) {
  for (const unsigned code : {48U, 95U, 140U}) {
    Snapshot row = bare_metal({xid(9 * kHour, fmt::format("{}, memory error", code))});
    row.nvml->gpus[0].ecc_volatile.dram_uncorrected = 1U;
    row.nvml->gpus[0].remapped_rows->pending = true;
    EXPECT_THAT(failures(row), ElementsAre("gpu.ecc_remapped_rows gpu0 reset_gpu")) << code;

    Snapshot sram = bare_metal({xid(9 * kHour, fmt::format("{}, memory error", code))});
    sram.nvml->gpus[0].ecc_volatile.sram_uncorrected = 1U;
    sram.nvml->gpus[0].sram->threshold_exceeded = true;
    EXPECT_THAT(failures(sram), ElementsAre("gpu.ecc_sram gpu0 reseat_or_replace")) << code;
  }
}

TEST(GpuXidTest, ALinkThatFailsAgainAfterEachResetIsReplaced) {
  const auto on_link = [](unsigned link, std::string_view first) {
    return fmt::format(
        "74, NVLink: fatal error detected on link {}({}, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", link,
        first);
  };
  const auto loaded = line(8 * kHour, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.65.06");
  const auto node_with = [&](const std::string& first, const std::string& last) {
    return bare_metal({xid(5 * kHour, first), xid(5 * kHour + 2, first), xid(6 * kHour, first),
                       loaded, xid(9 * kHour, last)});
  };
  const Finding again = only(node_with(on_link(4, "0x10"), on_link(4, "0x10")));
  EXPECT_EQ(again.remedy, Remedy::reseat_or_replace);
  EXPECT_THAT(again.message, HasSubstr("; 3 times on link 4"));
  // Another link, and one that only follows its peer.
  EXPECT_EQ(only(node_with(on_link(5, "0x10"), on_link(4, "0x10"))).remedy, kReset);
  EXPECT_EQ(only(node_with(on_link(4, "0x2"), on_link(4, "0x2"))).remedy, kReset);

  Snapshot rebooted = bare_metal({xid(9 * kHour, on_link(4, "0x10"))});
  EXPECT_EQ(only(rebooted).remedy, kReset);
  for (const double hours_ago : {20.0, 30.0}) {
    rebooted.earlier.xids.push_back({.address = "0001:00:00.0",
                                     .code = 74,
                                     .boot_id = "boot-0",
                                     .wall_s = kNow - hours_ago * kHour,
                                     .lines = 1,
                                     .text = on_link(4, "0x10").substr(4)});
  }
  EXPECT_EQ(only(rebooted).remedy, Remedy::reseat_or_replace);
}

}  // namespace
}  // namespace muster::gpu_xid_test
