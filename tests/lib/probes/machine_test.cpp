// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

class CpuProbeTest : public ProbeTest<probe_cpu, write_cpus> {
 protected:
  void write_topology(unsigned cpu, std::string_view file, std::string_view value) const {
    tree_.write(fmt::format("sys/devices/system/cpu/cpu{}/topology/{}", cpu, file), value);
  }
};

TEST_F(CpuProbeTest, CountsSocketsCoresAndThreads) {
  EXPECT_EQ(probe(),
            observed(Cpu{.sockets = 2U,
                         .cores = 4U,
                         .threads = 8U,
                         .offline = std::string(),
                         .model = std::string("AMD EPYC 7V12"),
                         .numa_nodes = std::vector<NumaNode>{{.id = 0,
                                                              .cpus = std::string("0-3"),
                                                              .memory_bytes = 1024000U,
                                                              .page_cache_bytes = 512000U},
                                                             {.id = 1,
                                                              .cpus = std::string("4-7"),
                                                              .memory_bytes = 1024000U,
                                                              .page_cache_bytes = 512000U}}}));
}

TEST_F(CpuProbeTest, CountsOnlyOnlineCpus) {
  tree_.write("sys/devices/system/cpu/online", "0-4,6\n");
  const auto cpu = probe().facts;
  EXPECT_EQ(cpu.offline, Fact<std::string>(std::string("5,7")));
  EXPECT_EQ(cpu.threads, Fact<unsigned>(6U));
  EXPECT_EQ(cpu.cores, Fact<unsigned>(4U));
  tree_.write("sys/devices/system/cpu/online", "0-5\n");
  EXPECT_EQ(probe()->cores, Fact<unsigned>(3U));
}

TEST_F(CpuProbeTest, DistinguishesCoresOfTheSameNumberInDifferentDies) {
  for (unsigned cpu = 0; cpu < 8; ++cpu) {
    write_topology(cpu, "core_id", "0\n");
    write_topology(cpu, "die_id", fmt::format("{}\n", cpu / 2 % 2));
  }
  EXPECT_EQ(probe()->cores, Fact<unsigned>(4U));
}

TEST_F(CpuProbeTest, AcceptsOlderKernelsWithoutDies) {
  for (unsigned cpu = 0; cpu < 8; ++cpu) {
    tree_.remove(fmt::format("sys/devices/system/cpu/cpu{}/topology/die_id", cpu));
  }
  EXPECT_EQ(probe()->cores, Fact<unsigned>(4U));
}

TEST_F(CpuProbeTest, CountsCoresWithoutSockets) {
  for (unsigned cpu = 0; cpu < 8; ++cpu) {
    write_topology(cpu, "physical_package_id", "-1\n");
    write_topology(cpu, "core_id", fmt::format("{}\n", cpu));
  }
  const auto cpu = probe().facts;
  EXPECT_EQ(cpu.cores, Fact<unsigned>(8U));
  EXPECT_EQ(cpu.sockets, Fact<unsigned>::absent(
                             "the kernel does not know the sockets (physical_package_id -1)"));
}

TEST_F(CpuProbeTest, KeepsNodesWithoutCpus) {
  tree_.write("sys/devices/system/node/node1/cpulist", "\n");
  EXPECT_EQ(
      probe()->numa_nodes->at(1),
      (NumaNode{
          .id = 1, .cpus = std::string(), .memory_bytes = 1024000U, .page_cache_bytes = 512000U}));
}

TEST_F(CpuProbeTest, NodesAreAbsentOnlyWithoutNuma) {
  tree_.remove("sys/devices/system/node/online");
  EXPECT_TRUE(probe()->numa_nodes.is_unreadable());
  tree_.remove("sys/devices/system/node");
  EXPECT_TRUE(probe()->numa_nodes.is_absent());
}

TEST_F(CpuProbeTest, TheModelIsAbsentOnArm) {
  tree_.write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n");
  EXPECT_EQ(probe()->model, Fact<std::string>::absent("/proc/cpuinfo names no model"));
}

TEST_F(CpuProbeTest, ReadsTheModelAtTheHeadOfAnEndlessCpuinfo) {
  tree_.write("proc/cpuinfo", fmt::format("model name\t: AMD EPYC\n{:x<{}}", "", 1024 * 1024));
  EXPECT_EQ(probe()->model, Fact<std::string>(std::string("AMD EPYC")));
}

TEST_F(CpuProbeTest, CoresAreUnreadableIfACpuHasNoTopology) {
  tree_.remove("sys/devices/system/cpu/cpu5");
  const auto cpu = probe().facts;
  EXPECT_TRUE(cpu.cores.is_unreadable());
  EXPECT_TRUE(cpu.sockets.is_unreadable());
  EXPECT_EQ(cpu.threads, Fact<unsigned>(8U));
}

using MemoryProbeTest = ProbeTest<probe_memory, write_memory>;

TEST_F(MemoryProbeTest, ReadsMemorySwapAndHugePages) {
  EXPECT_EQ(probe(), observed(Memory{.total_bytes = 2000UL * 1024,
                                     .available_bytes = 1500UL * 1024,
                                     .swap_total_bytes = 0U,
                                     .huge_pages = std::vector<HugePages>{
                                         {.size_kib = 2048, .total = 16U, .free = 12U}}}));
}

TEST_F(MemoryProbeTest, SortsHugePagesBySize) {
  tree_.write("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "1\n");
  tree_.write("sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "0\n");
  const auto pages = *probe()->huge_pages;
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[0].size_kib, 2048U);
  EXPECT_EQ(pages[1], (HugePages{.size_kib = 1048576, .total = 1U, .free = 0U}));
}

TEST_F(MemoryProbeTest, HugePagesAreAbsentIfTheKernelHasNone) {
  tree_.remove("sys/kernel/mm/hugepages");
  EXPECT_TRUE(probe()->huge_pages.is_absent());
}

TEST_F(MemoryProbeTest, ValuesThatMeminfoOmitsAreUnreadable) {
  tree_.write("proc/meminfo", "MemTotal: 10 kB\n");
  EXPECT_EQ(probe()->available_bytes,
            Fact<std::uint64_t>::unreadable("meminfo has no MemAvailable"));
}

using IdentityProbeTest = ProbeTest<probe_identity, write_identity>;

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

TEST_F(IdentityProbeTest, RecognisesAGuestOnArmByItsVendorOrXen) {
  tree_.write("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
  EXPECT_TRUE(probe()->hypervisor);
  tree_.remove("sys/class/dmi");
  EXPECT_FALSE(probe()->hypervisor);
  tree_.write("sys/hypervisor/type", "xen\n");
  EXPECT_TRUE(probe()->hypervisor);
}

TEST_F(IdentityProbeTest, ABlankOrMissingDmiFieldIsAbsent) {
  tree_.write("sys/class/dmi/id/chassis_asset_tag", " \n");
  EXPECT_EQ(probe()->chassis_asset_tag,
            Fact<std::string>::absent("/sys/class/dmi/id/chassis_asset_tag is blank"));
  tree_.remove("sys/class/dmi");
  EXPECT_TRUE(probe()->dmi_vendor.is_absent());
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

}  // namespace
}  // namespace muster
