// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/environment.hpp"

#include <gtest/gtest.h>

namespace muster::bench {
namespace {

TEST(JobPortTest, IsBelowTheEphemeralPorts) {
  for (const std::string_view job : {"", "1.0", "1.1", "4294967295.65535"}) {
    EXPECT_GE(port_of_job(job), 10000);
    EXPECT_LT(port_of_job(job), 30000);
  }
  EXPECT_NE(port_of_job("1.0"), port_of_job("1.1"));
}

TEST(JobPortTest, StaysValidWithAnOffset) {
  EXPECT_EQ(beside(29500, 97), 29597);
  EXPECT_EQ(beside(65500, 97), 65403);
}

}  // namespace
}  // namespace muster::bench
