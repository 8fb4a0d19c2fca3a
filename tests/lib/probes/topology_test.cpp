// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

struct PciFunction {
  std::string address;
  std::string folder;  // below sys/devices
  unsigned vendor = 0;
  unsigned device = 0;
  unsigned device_class = 0;  // 24 bits
  std::string local_cpus;
  unsigned numa_node = 0;
};

void write_bytes(std::string& config, std::size_t at, unsigned value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) {
    config[at + i] = static_cast<char>((value >> (8 * i)) & 0xffU);
  }
}

// Two NUMA nodes of two CPUs each; node 0 has a GPU and an HCA below one switch, node 1 an NVMe.
class TopologyProbeTest : public ProbeTest<probe_topology> {
 protected:
  TopologyProbeTest() {
    for (const char* list : {"online", "possible", "present"}) {
      tree_.write(fmt::format("sys/devices/system/cpu/{}", list), "0-3\n");
    }
    for (unsigned cpu = 0; cpu < 4; ++cpu) add_cpu(cpu);
    for (const char* list : {"online", "possible", "has_cpu", "has_memory"}) {
      tree_.write(fmt::format("sys/devices/system/node/{}", list), "0-1\n");
    }
    add_node(0, "3");
    add_node(1, "c");
    tree_.write("proc/meminfo", "MemTotal: 1024 kB\n");
    tree_.write("proc/cpuinfo", "processor\t: 0\n");
    tree_.write("proc/mounts", "");
    add_bridge("0000:01:00.0", "pci0000:01", 1);
    add_bridge("0000:02:00.0", "pci0000:01/0000:01:00.0", 2);
    add_bridge("0000:03:00.0", "pci0000:01/0000:01:00.0/0000:02:00.0", 3);
    add({"0000:04:00.0", "pci0000:01/0000:01:00.0/0000:02:00.0/0000:03:00.0", 0x10de, 0x2330,
         0x030200, "3"});
    add({"0101:00:00.0", "pci0101:00", 0x15b3, 0x101e, 0x020700, "3"});
    add({"0102:00:00.0", "pci0102:00", 0x144d, 0xa80a, 0x010802, "c", 1});
    tree_.write("sys/devices/pci0101:00/0101:00:00.0/infiniband/mlx5_ib0/node_guid",
                "0015:5dff:fe33:ff00\n");
    tree_.link("sys/devices/pci0101:00/0101:00:00.0/infiniband/mlx5_ib0/device",
               "../../../0101:00:00.0");
    tree_.write("sys/devices/pci0102:00/0102:00:00.0/nvme/nvme0/nvme0n1/size", "1024\n");
    tree_.link("sys/class/infiniband/mlx5_ib0",
               "../../devices/pci0101:00/0101:00:00.0/infiniband/mlx5_ib0");
  }

  void add_cpu(unsigned cpu) const {
    write_files(tree_, fmt::format("sys/devices/system/cpu/cpu{}/topology", cpu),
                {{"physical_package_id", fmt::format("{}\n", cpu / 2)},
                 {"core_id", fmt::format("{}\n", cpu)},
                 {"thread_siblings", fmt::format("{:x}\n", 1U << cpu)},
                 {"core_siblings", cpu < 2 ? "3\n" : "c\n"}});
  }

  void add_node(unsigned node, const std::string& mask) const {
    const std::string folder = fmt::format("sys/devices/system/node/node{}", node);
    tree_.write(fmt::format("{}/cpumap", folder), fmt::format("{}\n", mask));
    tree_.write(fmt::format("{}/meminfo", folder), fmt::format("Node {} MemTotal: 512 kB\n", node));
  }

  void add(const PciFunction& f, std::string config = std::string(256, '\0')) const {
    write_bytes(config, 0x00, f.vendor, 2);
    write_bytes(config, 0x02, f.device, 2);
    write_bytes(config, 0x09, f.device_class, 3);
    const std::string folder = fmt::format("sys/devices/{}/{}", f.folder, f.address);
    write_files(tree_, folder,
                {{"vendor", fmt::format("{:#06x}\n", f.vendor)},
                 {"device", fmt::format("{:#06x}\n", f.device)},
                 {"class", fmt::format("{:#08x}\n", f.device_class)},
                 {"subsystem_vendor", "0x0000\n"},
                 {"subsystem_device", "0x0000\n"},
                 {"revision", "0x00\n"},
                 {"local_cpus", fmt::format("{}\n", f.local_cpus)},
                 {"numa_node", fmt::format("{}\n", f.numa_node)},
                 {"config", config}});
    tree_.link(fmt::format("sys/bus/pci/devices/{}", f.address),
               fmt::format("../../../devices/{}/{}", f.folder, f.address));
  }

  // A bridge from bus `primary` to the next one, with all buses to 4 below it.
  void add_bridge(const std::string& address, const std::string& folder, unsigned primary) const {
    std::string config(256, '\0');
    write_bytes(config, 0x0e, 0x01, 1);
    write_bytes(config, 0x18, primary, 1);
    write_bytes(config, 0x19, primary + 1, 1);
    write_bytes(config, 0x1a, 4, 1);
    add({address, folder, 0x11f8, 0x4000, 0x060400, "3"}, config);
  }
};

TEST_F(TopologyProbeTest, PlacesGpusHcasAndNvmeByTheirLocalCpus) {
  EXPECT_EQ(
      probe(),
      observed(Topology{
          .devices = {{.address = "0000:04:00.0",
                       .numa_nodes = {0},
                       .bridges = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"}},
                      {.address = "0101:00:00.0", .os_device = "mlx5_ib0", .numa_nodes = {0}},
                      {.address = "0102:00:00.0", .os_device = "nvme0n1", .numa_nodes = {1}}}}));
}

TEST_F(TopologyProbeTest, PlacesADeviceWithAnUnknownNumaNode) {
  tree_.write("sys/devices/pci0102:00/0102:00:00.0/numa_node", "-1\n");
  EXPECT_THAT(probe()->devices.at(2).numa_nodes, ElementsAre(1));
  tree_.write("sys/devices/pci0102:00/0102:00:00.0/local_cpus", "f\n");
  EXPECT_THAT(probe()->devices.at(2).numa_nodes, ElementsAre(0, 1));
}

TEST_F(TopologyProbeTest, IgnoresTheCallersVariables) {
  ::setenv("HWLOC_SYNTHETIC", "node:4 pu:4", 1);
  ::setenv("HWLOC_COMPONENTS", "synthetic", 1);
  const auto section = probe();
  ::unsetenv("HWLOC_SYNTHETIC");
  ::unsetenv("HWLOC_COMPONENTS");
  EXPECT_EQ(section, probe());
}

TEST_F(TopologyProbeTest, ANetworkCardIsAnHcaOnlyWithRdma) {
  add({"0103:00:00.0", "pci0103:00", 0x15b3, 0x1017, 0x020000, "c", 1});
  EXPECT_THAT(probe()->devices, SizeIs(3));
  tree_.write("sys/devices/pci0103:00/0103:00:00.0/infiniband/mlx5_0/node_guid", "0\n");
  EXPECT_EQ(probe()->devices.at(3).os_device, "mlx5_0");
}

TEST_F(TopologyProbeTest, FindsNoDevicesInATreeWithoutAPciBus) {
  tree_.remove("sys/bus");
  EXPECT_EQ(probe(), observed(Topology{}));
}

}  // namespace
}  // namespace muster
