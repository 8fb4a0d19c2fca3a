// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checks/run.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "tests/support/printers.hpp"

namespace muster::coverage_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Everything was observed: there is one NVIDIA GPU with its driver, and one HCA.
Snapshot whole_node() {
  Snapshot snapshot;
  for_each_section(snapshot, [](Probe /*probe*/, auto& section) {
    section.status = Status::ok;
    section.reason.clear();
  });
  snapshot.pci->devices = {
      {.address = "0001:00:00.0", .kind = PciKind::gpu, .vendor = 0x10de, .driver = "nvidia"},
      {.address = "0101:00:00.0", .kind = PciKind::hca, .vendor = 0x15b3, .driver = "mlx5_core"}};
  return snapshot;
}

template <class T>
void take_away(Section<T>& section, Status status = Status::absent) {
  section = {.status = status, .reason = "no such thing"};
}

Profile profile_that_asks_for(std::vector<std::string> groups) {
  Profile profile;
  profile.must_observe = std::move(groups);
  return profile;
}

// "GPUs!" where they are required.
std::vector<std::string> gaps(const Snapshot& snapshot, const Profile& profile,
                              const Selection& selection = {.only = {"*"}},
                              const Context& context = {}) {
  std::vector<std::string> names;
  for (const auto& gap :
       not_observed(snapshot, profile, context, select_checks(profile, selection))) {
    EXPECT_NE(gap.reason, "");
    names.push_back(gap.required ? gap.what + "!" : gap.what);
  }
  return names;
}

TEST(CoverageTest, AWholeNodeLacksNothing) {
  EXPECT_THAT(gaps(whole_node(), profile_that_asks_for({"host", "pci", "gpu", "ib"})), IsEmpty());
}

TEST(CoverageTest, SectionsInMustObserveAreRequired) {
  auto snapshot = whole_node();
  snapshot.pci->devices.clear();
  take_away(snapshot.nvml);
  take_away(snapshot.infiniband);
  take_away(snapshot.kernel_log);
  EXPECT_THAT(gaps(snapshot, profile_that_asks_for({"gpu"})), ElementsAre("GPUs!"));
  EXPECT_THAT(gaps(snapshot, profile_that_asks_for({"host", "ib"})),
              ElementsAre("kernel log!", "InfiniBand!"));
  EXPECT_THAT(gaps(snapshot, Profile{}), IsEmpty());
}

TEST(CoverageTest, HardwareOnTheBusIsRequiredUnderAnyProfile) {
  auto snapshot = whole_node();
  take_away(snapshot.nvml);
  take_away(snapshot.infiniband);
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("InfiniBand!", "GPUs!"));
  snapshot.pci->devices[0].driver.clear();
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("InfiniBand!", "GPUs!"));
}

TEST(CoverageTest, HardwareThatIsAnotherDriversIsNamedAndNotRequired) {
  auto snapshot = whole_node();
  take_away(snapshot.nvml);
  take_away(snapshot.infiniband);
  for (auto& device : snapshot.pci->devices) device.driver = "vfio-pci";
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("InfiniBand", "GPUs"));
  snapshot.pci->devices = {
      {.address = "0001:00:00.0", .kind = PciKind::gpu, .vendor = 0x1002, .driver = "amdgpu"}};
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("GPUs"));
  snapshot.infiniband = whole_node().infiniband;
  snapshot.pci->amd_gpus = {{.address = "0001:00:00.0"}};
  EXPECT_THAT(gaps(snapshot, Profile{}), IsEmpty());
}

TEST(CoverageTest, ChecksThatWereLeftOutLackNothing) {
  auto snapshot = whole_node();
  take_away(snapshot.nvml);
  const auto profile = profile_that_asks_for({"host", "gpu"});
  EXPECT_THAT(gaps(snapshot, profile, {.only = {"host.*"}}), IsEmpty());
  EXPECT_THAT(gaps(snapshot, profile, {.only = {"pci.*", "gpu.xid"}}), IsEmpty());
  EXPECT_THAT(gaps(snapshot, profile, {.only = {"gpu.mig"}}), ElementsAre("GPUs!"));
}

TEST(CoverageTest, SectionsThatDoNotCountInTheContextAreOptional) {
  auto snapshot = whole_node();
  take_away(snapshot.nvml);
  EXPECT_THAT(gaps(snapshot, profile_that_asks_for({"gpu"}), {.only = {"*"}},
                   {.count_unknown = {"host.*", "ib.*"}}),
              ElementsAre("GPUs"));
}

TEST(CoverageTest, AProbeThatFailedIsAlwaysNamed) {
  auto snapshot = whole_node();
  take_away(snapshot.environment, Status::error);
  take_away(snapshot.cpu, Status::timeout);
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("processors", "environment"));
}

TEST(CoverageTest, AnNvmlThatCannotBeUsedObservesNoGpu) {
  auto snapshot = whole_node();
  snapshot.nvml->trouble = "driver not loaded";
  snapshot.nvml->trouble_code = 9;
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("GPUs!"));
  snapshot.pci->devices.clear();
  EXPECT_THAT(gaps(snapshot, Profile{}), IsEmpty());
}

TEST(CoverageTest, AnNvmlThatWasNamedIsRequired) {
  auto snapshot = whole_node();
  snapshot.pci->devices.clear();
  snapshot.nvml->trouble = "/etc/hostname: file too short";
  snapshot.nvml->trouble_code = 12;
  EXPECT_THAT(gaps(snapshot, Profile{}), ElementsAre("GPUs!"));
  Profile without_gpus;
  without_gpus.gpu->present.count = 0;
  EXPECT_THAT(gaps(snapshot, without_gpus), ElementsAre("GPUs"));
}

TEST(CoverageTest, AMissingRequiredSectionMakesTheVerdictUnknown) {
  auto snapshot = whole_node();
  take_away(snapshot.nvml);
  Profile profile = profile_that_asks_for({"gpu"});
  profile.name = "test";
  const Selection some{.only = {"muster.probes", "gpu.mig"}};
  const auto report = judge(snapshot, profile, some);
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_EQ(report.coverage.selected, 2);
  EXPECT_EQ(report.coverage.judged, 1);
  EXPECT_THAT(
      report.coverage.not_observed,
      ElementsAre(NotObserved{.what = "GPUs", .reason = "no such thing", .required = true}));
  EXPECT_EQ(judge(snapshot, profile, {.only = {"muster.probes"}}).verdict, Verdict::healthy);
}

}  // namespace
}  // namespace muster::coverage_test
