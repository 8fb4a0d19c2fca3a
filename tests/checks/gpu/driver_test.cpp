// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_driver_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_driver::check, snapshot, profile);
}

Snapshot with_driver(std::string driver) {
  Snapshot node = gpu_node::node();
  node.nvml->driver = driver;
  node.nvml->module = std::move(driver);
  return node;
}

TEST(GpuDriverTest, PassesWhereLibraryAndModuleAgree) {
  EXPECT_THAT(judge(with_driver("535.161.08")), ElementsAre(passes()));
}

TEST(GpuDriverTest, ANodeThatShouldHaveGpusAndHasNoNvmlFails) {
  Snapshot node = gpu_node::node();
  node.nvml = {.status = Status::absent, .reason = "libnvidia-ml.so.1: cannot open"};
  EXPECT_EQ(checks::gpu_driver::check.not_here(node, gpu_node::profile()), std::nullopt);
  EXPECT_THAT(judge(node), ElementsAre(fails("node", Remedy::fix_config)));
}

TEST(GpuDriverTest, ALibraryThatWasNamedAndIsNotThereFailsBelowAForeignRootToo) {
  Snapshot node = gpu_node::node();
  node.identity->foreign_root = true;
  node.nvml = observed(Nvml{.trouble = "x.so: cannot open", .trouble_code = 12});
  EXPECT_EQ(checks::gpu_driver::check.not_here(node, gpu_node::profile()), std::nullopt);
  EXPECT_THAT(judge(node), ElementsAre(fails("node", Remedy::fix_config)));
}

TEST(GpuDriverTest, WithoutGpusToExpectItIsSkipped) {
  Snapshot node = gpu_node::node();
  node.nvml = {.status = Status::absent, .reason = "libnvidia-ml.so.1: cannot open"};
  EXPECT_EQ(checks::gpu_driver::check.not_here(node, Profile{})->outcome, Outcome::skip);
}

TEST(GpuDriverTest, BelowAForeignRootWithoutALibraryItIsSkipped) {
  Snapshot node = gpu_node::node();
  node.identity->foreign_root = true;
  node.nvml = {.status = Status::absent, .reason = "name one with --nvml"};
  EXPECT_EQ(*checks::gpu_driver::check.not_here(node, gpu_node::profile()), skips());
}

TEST(GpuDriverTest, AfterAnUpgradeTheRemedyIsAReboot) {
  Snapshot node = gpu_node::node();
  node.nvml = observed(Nvml{.trouble = "nvmlInit_v2: Driver/library version mismatch (18)",
                            .trouble_code = 18,
                            .module = std::string("535.161.08")});
  EXPECT_THAT(judge(node), ElementsAre(fails("node", Remedy::reboot)));
}

TEST(GpuDriverTest, MoreGpusThanMusterReadsAreUnknownAndNothingToMend) {
  Snapshot node = gpu_node::node();
  node.nvml = observed(
      Nvml{.trouble = "nvmlDeviceGetCount_v2 returns 65 GPUs, and muster reads at most 64"});
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
}

TEST(GpuDriverTest, AnyOtherTroubleOfNvmlCallsForAReboot) {
  Snapshot node = gpu_node::node();
  node.nvml = observed(Nvml{.trouble = "nvmlInit_v2: Unknown Error (999)", .trouble_code = 999});
  EXPECT_THAT(judge(node), ElementsAre(fails("node", Remedy::reboot)));
}

TEST(GpuDriverTest, ADriverThatIsTooOldOrNotAllowedFails) {
  Profile profile = gpu_node::profile();
  profile.gpu->driver = {.minimum = std::string("535.161.08"), .allowed = {"550.*", "570.*"}};
  EXPECT_THAT(judge(with_driver("535.54.03"), profile),
              ElementsAre(fails("node", Remedy::fix_config,
                                {std::string("535.54.03"), std::string("535.161.08")}),
                          fails("node", Remedy::fix_config,
                                {std::string("535.54.03"), std::string("550.* or 570.*")})));
}

TEST(GpuDriverTest, ConfidentialGpusMustBeSetReady) {
  Snapshot node = gpu_node::node();
  node.nvml->driver = std::string("580.65.06");
  node.nvml->confidential = true;
  node.nvml->confidential_ready = false;
  const auto findings = ask(checks::gpu_driver::check, node, gpu_node::profile());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().outcome, Outcome::fail);
  EXPECT_EQ(findings.front().remedy, Remedy::restart_service);
  node.nvml->confidential_ready = true;
  EXPECT_EQ(ask(checks::gpu_driver::check, node, gpu_node::profile()).front().outcome,
            Outcome::pass);
}

}  // namespace
}  // namespace muster::gpu_driver_test
