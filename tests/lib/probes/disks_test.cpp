// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

class DisksProbeTest : public ProbeTest<probe_disks, write_disks> {
 protected:
  void write_controller(std::string_view file, std::string_view value) const {
    tree_.write(fmt::format("sys/devices/pci0001:00/0001:00:00.0/nvme/nvme0/{}", file), value);
  }
};

TEST_F(DisksProbeTest, ReadsNamespacesAndArrays) {
  EXPECT_EQ(probe(), observed(Disks{.nvme = {{.name = "nvme0n1",
                                              .controller = "nvme0",
                                              .model = std::string("Microsoft NVMe Direct Disk v2"),
                                              .firmware = std::string("NVMDV002"),
                                              .state = std::string("live"),
                                              .size_bytes = 2000UL * 512,
                                              .read_only = false,
                                              .address = std::string("0001:00:00.0"),
                                              .link_speed_gts = 32.0,
                                              .link_width = 4U}},
                                    .dead_controllers = {},
                                    .raid = {{.name = "md0",
                                              .level = std::string("raid1"),
                                              .state = std::string("clean"),
                                              .disks = 2U,
                                              .degraded = 0U}},
                                    .stacked = std::vector<StackedDevice>()}));
}

TEST_F(DisksProbeTest, ListsDiskImagesAndDevicesOnThem) {
  tree_.write("sys/block/loop3/loop/backing_file", "/home/alice/x.img\n");
  tree_.write("sys/block/loop4/size", "0\n");
  tree_.write("sys/block/dm-7/slaves/loop3/size", "8\n");
  using Devices = std::vector<StackedDevice>;
  EXPECT_EQ(probe()->stacked,
            Fact<Devices>(Devices{{.name = "dm-7", .on = {"loop3"}},
                                  {.name = "loop3", .file = "/home/alice/x.img"}}));
}

TEST_F(DisksProbeTest, AcceptsAMachineWithoutNvmeAndArrays) {
  tree_.remove("sys/class/nvme");
  tree_.remove("sys/block");
  auto section = probe();
  EXPECT_TRUE(section->stacked.is_absent());
  section->stacked = {};
  EXPECT_EQ(section, observed(Disks{}));
}

TEST_F(DisksProbeTest, ReportsAControllerWithoutANamespaceOrDevice) {
  tree_.remove("sys/devices/pci0001:00/0001:00:00.0/nvme/nvme0/nvme0n1");
  EXPECT_THAT(probe()->dead_controllers, ElementsAre("nvme0"));
  tree_.remove("sys/devices/pci0001:00");
  EXPECT_THAT(probe()->dead_controllers, ElementsAre("nvme0"));
}

TEST_F(DisksProbeTest, AControllerThatCannotBeListedIsAnError) {
  tree_.remove("sys/class/nvme/nvme0");
  tree_.link("sys/class/nvme/nvme0", "nvme0");
  EXPECT_FALSE(probe().ok());
}

TEST_F(DisksProbeTest, FindsTheBlockDeviceOfAMultipathNamespace) {
  tree_.remove("sys/devices/pci0001:00/0001:00:00.0/nvme/nvme0/nvme0n1");
  write_controller("nvme3c0n1/path", "");
  tree_.remove("sys/block/nvme0n1");
  tree_.write("sys/block/nvme3n1/size", "8\n");
  tree_.write("sys/block/nvme3n1/ro", "1\n");
  const auto disks = probe().facts;
  ASSERT_EQ(disks.nvme.size(), 1U);
  EXPECT_EQ(disks.nvme[0].name, "nvme3n1");
  EXPECT_EQ(disks.nvme[0].controller, "nvme0");
  EXPECT_EQ(disks.nvme[0].size_bytes, Fact<std::uint64_t>(4096U));
  EXPECT_EQ(disks.nvme[0].read_only, Fact<bool>(true));
}

TEST_F(DisksProbeTest, CountsANamespaceOfTwoControllersOnce) {
  write_controller("nvme3c0n1/path", "");
  tree_.write("sys/class/nvme/nvme1/nvme3c1n1/path", "");
  tree_.write("sys/class/nvme/nvme1/state", "live\n");
  std::vector<std::string> names;
  const auto section = probe();
  for (const auto& disk : section->nvme) names.push_back(disk.name);
  EXPECT_THAT(names, ElementsAre("nvme0n1", "nvme3n1"));
}

TEST_F(DisksProbeTest, IgnoresFoldersThatAreNotNamespaces) {
  for (const auto* name : {"ng0n1", "nvme0n", "nvme0c1", "nvme0n1p1", "hwmon1"}) {
    write_controller(fmt::format("{}/x", name), "");
  }
  EXPECT_EQ(probe()->nvme.size(), 1U);
}

TEST_F(DisksProbeTest, ReadsTheStateOfADisk) {
  write_controller("nvme0n1/ro", "1\n");
  write_controller("state", "dead\n");
  const auto disks = probe().facts;
  EXPECT_EQ(disks.nvme[0].read_only, Fact<bool>(true));
  EXPECT_EQ(disks.nvme[0].state, Fact<std::string>(std::string("dead")));
}

TEST_F(DisksProbeTest, RefusesAnImpossibleSize) {
  write_controller("nvme0n1/size", "18446744073709551615\n");
  EXPECT_TRUE(probe()->nvme[0].size_bytes.is_unreadable());
}

TEST_F(DisksProbeTest, ReadsArraysThatAreReshapedOrHaveNoRedundancy) {
  tree_.write("sys/block/md0/md/raid_disks", "4 (3)\n");
  tree_.remove("sys/block/md0/md/degraded");
  EXPECT_EQ(probe()->raid[0].disks, Fact<unsigned>(4U));
  EXPECT_TRUE(probe()->raid[0].degraded.is_absent());
}

TEST_F(DisksProbeTest, SkipsRemoteDisks) {
  for (const auto* model :
       {"MSFT NVMe Accelerator v1.0              \n", "Amazon Elastic Block Store              \n",
        "nvme_card-pd                            \n"}) {
    write_controller("model", model);
    EXPECT_THAT(probe()->nvme, IsEmpty()) << model;
    EXPECT_THAT(probe()->dead_controllers, IsEmpty()) << model;
  }
  for (const auto* model : {"Amazon EC2 NVMe Instance Storage\n", "nvme_card\n"}) {
    write_controller("model", model);
    EXPECT_EQ(probe()->nvme.size(), 1U) << model;
  }
  write_controller("transport", "rdma\n");
  EXPECT_THAT(probe()->nvme, IsEmpty());
  EXPECT_THAT(probe()->dead_controllers, IsEmpty());
  tree_.remove("sys/devices/pci0001:00/0001:00:00.0/nvme/nvme0/transport");
  EXPECT_EQ(probe()->nvme.size(), 1U);
}

}  // namespace
}  // namespace muster
