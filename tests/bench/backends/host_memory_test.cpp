// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/host_memory.hpp"

#include <gtest/gtest.h>

namespace muster::bench {
namespace {

TEST(HostMemoryTest, ReservesAtMostItsShare) {
  constexpr std::uint64_t kMib = 1UL << 20;
  HostMemory memory(0, 2, 9 * kMib);
  EXPECT_EQ(memory.room(), 9 * kMib);
  EXPECT_TRUE(memory.reserve({.bytes = 4 * kMib}));
  EXPECT_TRUE(memory.reserve({.in_place = true, .bytes = 8 * kMib}));
  const auto refused = memory.reserve({.bytes = 8 * kMib});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "buffers need 16.125 MiB, but this rank's share of the host's available memory is "
            "9 MiB");
  EXPECT_TRUE(HostMemory(0, 2).reserve({.bytes = 8 * kMib}));
}

TEST(HostMemoryTest, ReadsTheAvailableMemory) {
  const auto available = host_memory_available();
  ASSERT_TRUE(available);
  EXPECT_GT(*available, 0);
  EXPECT_EQ(*available % 1024, 0);
}

}  // namespace
}  // namespace muster::bench
