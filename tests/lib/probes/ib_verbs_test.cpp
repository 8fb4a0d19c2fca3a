// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "lib/probes/probes.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::AnyOf;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(VerbsProbeTest, IsAbsentBelowAForeignRoot) {
  const TempDir tree;
  const auto section = probe_verbs(*Root::below(tree.path()));
  EXPECT_EQ(section.status, Status::absent);
  EXPECT_EQ(section.reason, "libibverbs asks the running kernel, which a foreign root has not");
}

// This machine may or may not have HCAs: what holds everywhere is that an answer is complete.
TEST(VerbsProbeTest, SucceedsOrExplainsOnThisMachine) {
  const auto section = probe_verbs(Root());
  EXPECT_THAT(section.status, AnyOf(Status::ok, Status::absent));
  EXPECT_EQ(section.ok(), section.reason.empty());
  for (const VerbsDevice& device : section->devices) EXPECT_THAT(device.name, Not(IsEmpty()));
}

}  // namespace
}  // namespace muster
