// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

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
