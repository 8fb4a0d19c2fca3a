// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

class IdentityProbeTest : public ::testing::Test {
 protected:
  IdentityProbeTest() { write_identity(tree_); }

  [[nodiscard]] Section<Identity> probe() const { return probe_identity(root_of(tree_)); }

  TempDir tree_;
};

TEST_F(IdentityProbeTest, ReadsTheIdentity) {
  tree_.write("run/cloud-init/instance-data.json",
              R"({"ds": {"meta_data": {"imds": {"compute": {"vmSize": "Standard_ND40rs_v2"}}}}})");
  EXPECT_EQ(probe(),
            observed(Identity{.hostname = "gpu-0007",
                              .boot_id = std::string("1f080c0c-7496-44a5-b0ed-7dfff1bfa5b0"),
                              .uptime_s = 12345.67,
                              .dmi_vendor = std::string("Microsoft Corporation"),
                              .dmi_product = std::string("Virtual Machine"),
                              .chassis_asset_tag = std::string("7783-7084-3265-9085-8269-3286-77"),
                              .hypervisor = true,
                              .foreign_root = true,
                              .physical_host = std::string("blz01.example.net"),
                              .instance_size = std::string("Standard_ND40rs_v2")}));
}

TEST_F(IdentityProbeTest, ReadsTheInstanceSize) {
  EXPECT_TRUE(probe()->instance_size.is_absent());
  tree_.write("run/cloud-init/instance-data.json", R"({"ds": {"meta_data": {"vmSize": "S_a"}}})");
  EXPECT_EQ(probe()->instance_size, Fact<std::string>(std::string("S_a")));
  tree_.write("run/cloud-init/instance-data.json",
              R"({"ds": {"meta_data": "redacted for non-root user"}})");
  tree_.write("run/cloud-init/instance-data-sensitive.json",
              R"({"ds": {"meta_data": {"instance-type": "p5.48xlarge"}}})");
  EXPECT_EQ(probe()->instance_size, Fact<std::string>(std::string("p5.48xlarge")));
}

TEST_F(IdentityProbeTest, InvalidInstanceDataIsUnreadable) {
  tree_.write("run/cloud-init/instance-data.json", "{\"ds\": ");
  EXPECT_TRUE(probe()->instance_size.is_unreadable());
  tree_.write("run/cloud-init/instance-data.json", std::string(9UL * 1024 * 1024, ' '));
  EXPECT_TRUE(probe()->instance_size.is_unreadable());
  EXPECT_TRUE(probe().ok());
  tree_.remove("run/cloud-init/instance-data.json");
  tree_.write("run/cloud-init/instance-data.json/x", "");
  EXPECT_FALSE(probe()->instance_size.known());
  EXPECT_TRUE(probe().ok());
}

TEST_F(IdentityProbeTest, TrustsTheProcessorFlagForBareMetal) {
  tree_.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu lm\n");
  EXPECT_FALSE(probe()->hypervisor);
}

TEST_F(IdentityProbeTest, RecognisesAHyperVGuestOnArmByItsVendor) {
  tree_.write("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
  EXPECT_TRUE(probe()->hypervisor);
}

TEST_F(IdentityProbeTest, RecognisesAXenGuestWithoutDmi) {
  tree_.write("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
  tree_.remove("sys/class/dmi");
  tree_.write("sys/hypervisor/type", "xen\n");
  EXPECT_TRUE(probe()->hypervisor);
}

TEST_F(IdentityProbeTest, ArmWithoutAHintIsBareMetal) {
  tree_.write("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
  tree_.remove("sys/class/dmi");
  EXPECT_FALSE(probe()->hypervisor);
}

TEST_F(IdentityProbeTest, DmiIsAbsentIfTheMachineHasNone) {
  tree_.remove("sys/class/dmi");
  EXPECT_TRUE(probe()->dmi_vendor.is_absent());
}

TEST_F(IdentityProbeTest, ABlankDmiFieldIsAbsent) {
  tree_.write("sys/class/dmi/id/chassis_asset_tag", " \n");
  EXPECT_EQ(probe()->chassis_asset_tag,
            Fact<std::string>::absent("/sys/class/dmi/id/chassis_asset_tag is blank"));
}

TEST_F(IdentityProbeTest, EscapesTextOfFirmware) {
  tree_.write("sys/class/dmi/id/product_name", "X\x1b[31m\xff\n");
  EXPECT_EQ(probe()->dmi_product, Fact<std::string>(std::string("X\\x1b[31m\\xff")));
}

TEST_F(IdentityProbeTest, RefusesAnInvalidUptime) {
  tree_.write("proc/uptime", "-5.0 1.0\n");
  EXPECT_EQ(probe()->uptime_s,
            Fact<double>::unreadable("read /proc/uptime: expected seconds, got \"-5.0 1.0\""));
}

TEST_F(IdentityProbeTest, DoesNotReadAnEndlessPool) {
  tree_.write("var/lib/hyperv/.kvp_pool_3", std::string(2UL * 1024 * 1024, 'x'));
  EXPECT_TRUE(probe()->physical_host.is_unreadable());
}

TEST_F(IdentityProbeTest, KeepsTheRestIfTheNameIsUnreadable) {
  tree_.remove("proc/sys/kernel/hostname");
  const auto section = probe();
  EXPECT_TRUE(section.ok());
  EXPECT_EQ(section->hostname, "");
}

TEST(EmptyRootTest, IsAnErrorForTheIdentityProbe) {
  const TempDir empty;
  EXPECT_EQ(
      probe_identity(root_of(empty)),
      (Section<Identity>{.status = Status::error,
                         .reason = "open /proc/sys/kernel/hostname: No such file or directory"}));
}

}  // namespace
}  // namespace muster
