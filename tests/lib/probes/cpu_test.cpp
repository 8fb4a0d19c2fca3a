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

class MemoryProbeTest : public ::testing::Test {
 protected:
  MemoryProbeTest() { write_memory(tree_); }

  [[nodiscard]] Section<Memory> probe() const { return probe_memory(root_of(tree_)); }

  TempDir tree_;
};

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

TEST(EmptyRootTest, IsAnErrorForTheMemoryProbe) {
  const TempDir empty;
  EXPECT_EQ(probe_memory(root_of(empty)),
            (Section<Memory>{.status = Status::error,
                             .reason = "open /proc/meminfo: No such file or directory"}));
}

}  // namespace
}  // namespace muster
