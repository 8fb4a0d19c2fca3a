// SPDX-License-Identifier: Apache-2.0
// Buffers in host memory, and the module of MPI without an MPI job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/backends/host_backend.hpp"
#include "bench/backends/mpi/module.hpp"

namespace muster::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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

TEST(MpiModuleTest, IsMissing) {
  const auto job = start_mpi("/nowhere/muster_mpi.so");
  ASSERT_FALSE(job);
  EXPECT_TRUE(job.error().missing);
  EXPECT_THAT(job.error().message, StartsWith("open the MPI module: "));
  EXPECT_THAT(job.error().message, HasSubstr("/nowhere/muster_mpi.so"));
}

TEST(MpiModuleTest, RejectsAnotherLibrary) {
  const auto job = start_mpi("libm.so.6");
  ASSERT_FALSE(job);
  EXPECT_FALSE(job.error().missing);
  EXPECT_EQ(job.error().message, "libm.so.6 belongs to another version of this program");
}

TEST(MpiModuleTest, IsNextToTheProgramsFolder) {
  ::unsetenv("MUSTER_MPI_MODULE");
  EXPECT_THAT(mpi_module_path().string(), HasSubstr("/lib/muster/muster_mpi.so"));
  ::setenv("MUSTER_MPI_MODULE", "/opt/muster_mpi.so", 1);
  EXPECT_EQ(mpi_module_path(), "/opt/muster_mpi.so");
  ::unsetenv("MUSTER_MPI_MODULE");
}

}  // namespace
}  // namespace muster::bench
