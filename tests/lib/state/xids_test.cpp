// SPDX-License-Identifier: Apache-2.0
// XIDs in the state file.
#include "lib/state/xids.hpp"

#include <fmt/format.h>

#include "lib/base/units.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/printers.hpp"

namespace muster {
namespace {

constexpr double kNow = 1e9;  // seconds since 1970

KernelRecord said(double uptime_s, const std::string& what) {
  return {.time_us = static_cast<std::uint64_t>(uptime_s * 1e6),
          .text = fmt::format("NVRM: Xid (PCI:0001:00:00): {}", what)};
}

// Ten hours after boot.
Snapshot node(std::vector<KernelRecord> records) {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.boot_id = std::string("boot-1"), .uptime_s = 10 * kHour});
  snapshot.kernel_log = observed(KernelLog{.records = std::move(records)});
  snapshot.xids = find_xids(*snapshot.kernel_log);
  snapshot.environment = observed(Environment{});
  snapshot.earlier.wall_s = kNow;
  return snapshot;
}

// The log begins five hours after boot.
Snapshot node_that_lost_records() {
  Snapshot snapshot = node({});
  snapshot.kernel_log->first_sequence = 5000;
  snapshot.kernel_log->first_us = static_cast<std::uint64_t>(5 * kHour * 1e6);
  return snapshot;
}

Snapshot in_job(Snapshot snapshot, std::string job, std::string context) {
  snapshot.environment->job = {{"SLURM_JOB_ID", std::move(job)},
                               {"SLURM_SCRIPT_CONTEXT", std::move(context)}};
  return snapshot;
}

XidEvent event_at(double uptime_s, std::optional<unsigned> pid = {}) {
  const auto time_us = static_cast<std::uint64_t>(uptime_s * 1e6);
  return {
      .address = "0001:00:00.0", .code = 31, .first_us = time_us, .last_us = time_us, .pid = pid};
}

Earlier remember(Earlier state, const Snapshot& snapshot) {
  remember_xids(state, snapshot);
  return state;
}

TEST(JobOfXidTest, IsTheJobOfTheProcess) {
  Snapshot snapshot = node({});
  Gpu gpu;
  gpu.processes = std::vector{GpuProcess{.pid = 7, .job = "42"}};
  snapshot.nvml = observed(Nvml{.gpus = {gpu}});
  EXPECT_EQ(job_of(snapshot, event_at(100, 7U)), "42");
  EXPECT_EQ(job_of(snapshot, event_at(100, 8U)), "");
  EXPECT_EQ(job_of(snapshot, event_at(100)), "");
}

TEST(JobOfXidTest, IsTheEndingJobIfItHadBegun) {
  Snapshot snapshot = in_job(node({}), "42", "epilog_slurmd");
  EXPECT_EQ(job_of(snapshot, event_at(9 * kHour)), "") << "the start of the job is unknown";
  snapshot.earlier.jobs = {{.id = "42", .boot_id = "boot-1", .since_s = 8 * kHour}};
  EXPECT_EQ(job_of(snapshot, event_at(9 * kHour)), "42");
  EXPECT_EQ(job_of(snapshot, event_at(7 * kHour)), "");
  snapshot.earlier.jobs[0].boot_id = "boot-0";
  EXPECT_EQ(job_of(snapshot, event_at(9 * kHour)), "");
}

TEST(JobOfXidTest, UsesSlurmsStartTime) {
  Snapshot snapshot = in_job(node({}), "42", "epilog_slurmd");
  snapshot.environment->job["SLURM_JOB_START_TIME"] = fmt::format("{:.0f}", kNow - 2 * kHour);
  EXPECT_EQ(job_of(snapshot, event_at(9 * kHour)), "42");
  EXPECT_EQ(job_of(snapshot, event_at(7 * kHour)), "");
}

TEST(JobOfXidTest, IsNotTheJobOfOtherGpus) {
  Snapshot snapshot = in_job(node({}), "42", "epilog_slurmd");
  snapshot.earlier.jobs = {{.id = "42", .boot_id = "boot-1", .since_s = 8 * kHour}};
  Gpu gpu{.index = 0, .address = "0001:00:00.0"};
  gpu.minor = 0U;
  Gpu other{.index = 1, .address = "0002:00:00.0"};
  other.minor = 1U;
  snapshot.nvml = observed(Nvml{.gpus = {gpu, other}});
  snapshot.environment->job["SLURM_JOB_GPUS"] = "1";
  EXPECT_EQ(job_of(snapshot, event_at(9 * kHour)), "");
  snapshot.environment->job["SLURM_JOB_GPUS"] = "0";
  EXPECT_EQ(job_of(snapshot, event_at(9 * kHour)), "42");
}

TEST(JobOfXidTest, IsNotAJobThatOnlyBegins) {
  Snapshot snapshot = in_job(node({}), "42", "prolog_slurmd");
  snapshot.environment->job["SLURM_JOB_START_TIME"] = fmt::format("{:.0f}", kNow - 2 * kHour);
  EXPECT_EQ(job_of(snapshot, event_at(9 * kHour)), "");
}

TEST(RememberXidsTest, StoresAnEvent) {
  const Earlier state = remember({}, node({said(9 * kHour, "79, GPU has fallen off the bus.")}));
  EXPECT_THAT(state.xids, ElementsAre(RememberedXid{.address = "0001:00:00.0",
                                                    .code = 79,
                                                    .boot_id = "boot-1",
                                                    .first_s = 9 * kHour,
                                                    .last_s = 9 * kHour,
                                                    .wall_s = kNow - kHour,
                                                    .lines = 1,
                                                    .text = "GPU has fallen off the bus."}));
}

TEST(RememberXidsTest, IgnoresTheSameLineAgain) {
  const Snapshot snapshot =
      node({said(9 * kHour, "31, MMU Fault"), said(9 * kHour + 60, "31, MMU Fault")});
  const Earlier once = remember({}, snapshot);
  ASSERT_EQ(once.xids.size(), 1U) << "within minutes they are one";
  EXPECT_EQ(once.xids[0].lines, 2U);
  EXPECT_EQ(remember(once, snapshot), once);
}

TEST(RememberXidsTest, AddsTheJobWhenItEnds) {
  const Snapshot before = node({said(9 * kHour, "31, MMU Fault")});
  const Earlier unknown = remember({}, before);
  EXPECT_EQ(unknown.xids.at(0).job, "");
  Snapshot epilog = in_job(before, "42", "epilog_slurmd");
  epilog.earlier.jobs = {{.id = "42", .boot_id = "boot-1", .since_s = 8 * kHour}};
  EXPECT_EQ(remember(unknown, epilog).xids.at(0).job, "42");
}

TEST(RememberXidsTest, ForgetsOldXidsOfOtherBoots) {
  Earlier state;
  state.xids = {{.address = "a", .code = 31, .boot_id = "boot-0", .wall_s = kNow - 3 * kHour},
                {.address = "b", .code = 31, .boot_id = "boot-0", .wall_s = kNow - 49 * kHour},
                {.address = "c", .code = 31, .boot_id = "boot-1", .wall_s = kNow - 90 * kHour}};
  const Earlier kept = remember(state, node({}));
  ASSERT_EQ(kept.xids.size(), 2U);
  EXPECT_EQ(kept.xids[0].address, "c");
  EXPECT_EQ(kept.xids[1].address, "a");
}

TEST(RememberXidsTest, KeepsOtherXidsInAStorm) {
  std::vector<KernelRecord> records{said(10, "79, GPU has fallen off the bus.")};
  for (int i = 0; i < 100; ++i) records.push_back(said(100 + i * 700.0, "31, MMU Fault"));
  const Earlier state = remember({}, node(std::move(records)));
  EXPECT_EQ(std::ranges::count(state.xids, 31U, &RememberedXid::code), 16);
  EXPECT_EQ(std::ranges::count(state.xids, 79U, &RememberedXid::code), 1);
}

TEST(RememberXidsTest, KeepsAFatalXidNextToAHarmlessOne) {
  const Earlier state = remember(
      {}, node({said(100, "74, NVLink: fatal error"), said(101, "74, NVLink: non-fatal error"),
                said(400, "74, NVLink: non-fatal error")}));
  ASSERT_EQ(state.xids.size(), 3U);
  EXPECT_EQ(state.xids[0].text, "NVLink: fatal error");
}

TEST(AddRememberedTest, IgnoresInvalidTimes) {
  Snapshot snapshot = node_that_lost_records();
  snapshot.earlier.xids = {{.code = 79, .boot_id = "boot-1", .first_s = -1e300, .last_s = 1},
                           {.code = 79, .boot_id = "boot-1", .first_s = 2, .last_s = -1e300}};
  XidLog log;
  add_remembered(snapshot, log);
  EXPECT_THAT(log.events, IsEmpty());
}

TEST(RememberJobTest, LastsFromPrologToEpilog) {
  Earlier state;
  remember_job(state, in_job(node({}), "42", "prolog_slurmd"));
  EXPECT_THAT(
      state.jobs,
      ElementsAre(SeenJob{.id = "42", .boot_id = "boot-1", .since_s = 10 * kHour, .wall_s = kNow}));
  remember_job(state, node({}));
  EXPECT_EQ(state.jobs.size(), 1U);
  remember_job(state, in_job(node({}), "42", "epilog_slurmd"));
  EXPECT_THAT(state.jobs, IsEmpty());
}

TEST(AddRememberedTest, AddsLostEvents) {
  Snapshot snapshot = node_that_lost_records();
  snapshot.earlier.xids = {{.address = "0001:00:00.0",
                            .uuid = "GPU-1",
                            .code = 79,
                            .boot_id = "boot-1",
                            .first_s = kHour,
                            .last_s = kHour,
                            .lines = 3,
                            .text = "GPU has fallen off the bus."},
                           {.address = "x", .code = 79, .boot_id = "boot-0", .last_s = kHour},
                           {.address = "y", .code = 79, .boot_id = "boot-1", .last_s = 6 * kHour}};
  XidLog log;
  add_remembered(snapshot, log);
  ASSERT_EQ(log.events.size(), 1U);
  EXPECT_EQ(log.events[0].code, 79U);
  EXPECT_EQ(log.events[0].lines, 3U);
  EXPECT_EQ(log.events[0].last_us, static_cast<std::uint64_t>(kHour * 1e6));
  EXPECT_EQ(log.subjects.at("0001:00:00.0").uuid, "GPU-1");
}

TEST(RememberXidsTest, StoresXidsOfProgramsOnlyIfBelieved) {
  KernelRecord written = said(kHour, "79, GPU has fallen off the bus.");
  written.facility = 1;
  const KernelRecord loaded{.time_us = static_cast<std::uint64_t>(2 * kHour * 1e6),
                            .facility = 1,
                            .text = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535"};
  const Snapshot snapshot = node({written, said(kHour, "79, GPU has fallen off the bus."), loaded});
  EXPECT_EQ(remember({}, snapshot).xids.size(), 1U);

  Earlier state;
  remember_xids(state, snapshot, true);
  ASSERT_EQ(state.xids.size(), 2U) << "they never become one";
  EXPECT_TRUE(state.xids[0].of_program);
  EXPECT_FALSE(state.xids[1].of_program);
  EXPECT_EQ(state.driver_loaded_s, 0) << "a program ends nothing that the kernel told";

  Snapshot later = node_that_lost_records();
  later.earlier.xids = state.xids;
  XidLog believed;
  add_remembered(later, believed, true);
  EXPECT_EQ(believed.events.size(), 2U);
  XidLog kernels;
  add_remembered(later, kernels);
  ASSERT_EQ(kernels.events.size(), 1U) << "the policy is off again";
  EXPECT_FALSE(kernels.events[0].of_program);
}

TEST(AddRememberedTest, AddsNothingToACompleteLog) {
  Snapshot snapshot = node({});
  snapshot.earlier.xids = {{.address = "a", .code = 79, .boot_id = "boot-1", .last_s = kHour}};
  XidLog log;
  add_remembered(snapshot, log);
  EXPECT_THAT(log.events, IsEmpty());
}

TEST(AddRememberedTest, AddsTheLoadOfTheDriver) {
  const auto loaded = KernelRecord{.time_us = 2'000'000,
                                   .text = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535"};
  Snapshot later = node_that_lost_records();
  later.earlier = remember({}, node({loaded}));
  XidLog log;
  add_remembered(later, log);
  EXPECT_THAT(log.driver_loaded_us, ElementsAre(2'000'000U));
}

}  // namespace
}  // namespace muster
