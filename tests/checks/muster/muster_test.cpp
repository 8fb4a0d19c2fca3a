// SPDX-License-Identifier: Apache-2.0
// muster's own probes and state judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "checks/run.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::own_checks_test {
namespace {

namespace muster_probes {

Profile fatal_mounts() {
  Profile profile;
  profile.muster->probes.fatal = {"mounts"};
  return profile;
}

constexpr AskedCheck judged{checks::muster_probes::check, fatal_mounts};

Expected hung(const char* probe, Remedy remedy) {
  return finds(Outcome::unknown, probe, remedy, {"timeout"s, "ok"s});
}

TEST(MusterProbesTest, PassesWhenNothingHungOrFailed) {
  Snapshot snapshot;
  snapshot.cpu = observed(Cpu{});
  snapshot.verbs = {.status = Status::absent, .reason = "no RDMA stack"};
  EXPECT_THAT(judged(snapshot), ElementsAre(passes()));
}

TEST(MusterProbesTest, SkipsIfNoProbeRan) { EXPECT_THAT(judged(Snapshot{}), ElementsAre(skips())); }

TEST(MusterProbesTest, AFatalProbeThatHangsFailsTheNode) {
  Snapshot snapshot;
  snapshot.mounts = {.status = Status::timeout, .reason = "no answer within 5 s"};
  EXPECT_THAT(judged(snapshot), ElementsAre(fails("mounts", Remedy::reboot,
                                                  {std::string("timeout"), std::string("ok")})));
}

TEST(MusterProbesTest, AFatalProbeIsUnknownWherePlainFilesTakeSecondsToRead) {
  Snapshot snapshot;
  snapshot.mounts = {.status = Status::timeout, .reason = "no answer within 5 s"};
  snapshot.cpu = observed(Cpu{});
  snapshot.cpu.duration_ms = 2500;
  EXPECT_THAT(judged(snapshot), ElementsAre(hung("mounts", Remedy::watch)));
}

TEST(MusterProbesTest, AnotherProbeThatHangsOrFailsIsUnknown) {
  Snapshot snapshot;
  snapshot.pci = {.status = Status::timeout, .reason = "no answer within 5 s"};
  snapshot.cpu = {.status = Status::error, .reason = "killed by signal 11"};
  EXPECT_THAT(judged(snapshot),
              ElementsAre(finds(Outcome::unknown, "cpu", Remedy::none, {"error"s, "ok"s}),
                          finds(Outcome::unknown, "pci", Remedy::reboot, {"timeout"s, "ok"s})));
}

TEST(MusterProbesTest, ADriverOfGpusThatHangsHasItsCode) {
  Snapshot snapshot;
  snapshot.nvml = {.status = Status::timeout, .reason = "nvmlInit_v2 did not return within 5 s"};
  Profile profile;
  profile.muster->probes.fatal = {"nvml", "mounts"};
  profile.gpu->present.count = 8;
  const auto report = judge(snapshot, profile, {.only = {"muster.probes", "gpu.*"}});
  auto hangs = fails("nvml", Remedy::reboot, {"timeout"s, "ok"s}, "NHC2015");
  hangs.finding.category = "Resource.Hpc.Unhealthy.UnhealthyGPUNvidiasmi";
  EXPECT_EQ(report.findings.front(), hangs);
  // The fault is reported once; facts of the driver are unknown.
  for (const auto& check : report.checks) {
    EXPECT_EQ(check.outcome == Outcome::fail, check.id == "muster.probes") << check.id;
  }
}

TEST(MusterProbesTest, AdvisesARebootOnlyIfADriverMayHang) {
  Snapshot snapshot;
  snapshot.cpu = {.status = Status::timeout, .reason = "no answer within 5 s"};
  snapshot.disks = {.status = Status::timeout, .reason = "no answer within 5 s"};
  snapshot.environment = {.status = Status::timeout, .reason = "no answer within 5 s"};
  EXPECT_THAT(judged(snapshot),
              ElementsAre(hung("cpu", Remedy::watch), hung("disks", Remedy::reboot),
                          hung("environment", Remedy::fix_config)));
}

}  // namespace muster_probes

namespace muster_state {

Findings judged(Earlier earlier) {
  Snapshot snapshot;
  snapshot.earlier = std::move(earlier);
  return ask(checks::muster_state::check, snapshot, Profile{});
}

TEST(MusterStateTest, JudgesEachCase) {
  expect_each({
      {"skips with the reason when the state was put aside",
       judged({.note = "state.json is not a state file; put aside as state.json.bad"}),
       {skips()}},
      {"skips the first run of a boot", judged({}), {skips()}},
      {"passes once there is an earlier run", judged({.last_uptime_s = 12}), {passes()}},
  });
}

}  // namespace muster_state

}  // namespace
}  // namespace muster::own_checks_test
