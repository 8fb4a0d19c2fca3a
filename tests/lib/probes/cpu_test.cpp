// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

class CpuProbeTest : public ::testing::Test {
 protected:
  CpuProbeTest() { write_cpus(tree_); }

  [[nodiscard]] Section<Cpu> probe() const { return probe_cpu(root_of(tree_)); }

  void write_topology(unsigned cpu, std::string_view file, std::string_view value) const {
    tree_.write(fmt::format("sys/devices/system/cpu/cpu{}/topology/{}", cpu, file), value);
  }

  TempDir tree_;
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

TEST_F(CpuProbeTest, ListsOfflineCpus) {
  tree_.write("sys/devices/system/cpu/online", "0-4,6\n");
  const auto cpu = probe().facts;
  EXPECT_EQ(cpu.offline, Fact<std::string>(std::string("5,7")));
  EXPECT_EQ(cpu.threads, Fact<unsigned>(6U));
  EXPECT_EQ(cpu.cores, Fact<unsigned>(4U));
}

TEST_F(CpuProbeTest, DoesNotCountOfflineCores) {
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

TEST_F(CpuProbeTest, CountsHundredsOfCpus) {
  tree_.write("sys/devices/system/cpu/online", "0-383\n");
  tree_.write("sys/devices/system/cpu/present", "0-383\n");
  for (unsigned cpu = 0; cpu < 384; ++cpu) {
    write_topology(cpu, "physical_package_id", fmt::format("{}\n", cpu / 192));
    write_topology(cpu, "die_id", "0\n");
    write_topology(cpu, "core_id", fmt::format("{}\n", cpu % 192));
  }
  EXPECT_EQ(probe()->cores, Fact<unsigned>(384U));
}

TEST_F(CpuProbeTest, KeepsNodesWithoutCpus) {
  tree_.write("sys/devices/system/node/node1/cpulist", "\n");
  EXPECT_EQ(
      probe()->numa_nodes->at(1),
      (NumaNode{
          .id = 1, .cpus = std::string(), .memory_bytes = 1024000U, .page_cache_bytes = 512000U}));
}

TEST_F(CpuProbeTest, NodesAreAbsentWithoutNuma) {
  tree_.remove("sys/devices/system/node");
  EXPECT_TRUE(probe()->numa_nodes.is_absent());
}

TEST_F(CpuProbeTest, NodesAreUnreadableWithoutTheirList) {
  tree_.remove("sys/devices/system/node/online");
  EXPECT_TRUE(probe()->numa_nodes.is_unreadable());
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

TEST(EmptyRootTest, IsAnErrorForTheCpuProbe) {
  const TempDir empty;
  EXPECT_EQ(probe_cpu(root_of(empty)).status, Status::error);
}

}  // namespace
}  // namespace muster
