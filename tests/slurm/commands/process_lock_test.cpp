// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/process_lock.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

TEST(ProcessLockTest, IsOursWhereNobodyHasIt) {
  const TempDir dir;
  EXPECT_EQ(try_lock(dir.path() / "lock").holder, ProcessLock::Holder::ours);
}

// In a folder of others it could lead to any file of root's.
TEST(ProcessLockTest, DoesNotFollowALink) {
  const TempDir dir;
  dir.link("lock", "elsewhere");
  EXPECT_EQ(try_lock(dir.path() / "lock").holder, ProcessLock::Holder::unknown);
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "elsewhere"));
}

}  // namespace
}  // namespace muster::app
