// SPDX-License-Identifier: Apache-2.0
// Tests without an MPI job.
#include "bench/backends/mpi/module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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
