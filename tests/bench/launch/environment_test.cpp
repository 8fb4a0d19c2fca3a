// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/environment.hpp"

#include <gtest/gtest.h>

namespace muster::bench {
namespace {

TEST(RendezvousTest, IsAHostAndAPort) {
  EXPECT_EQ(parse_rendezvous("node1:6105").value(), (Rendezvous{"node1", 6105}));
  EXPECT_EQ(parse_rendezvous("10.0.0.4:1").value(), (Rendezvous{"10.0.0.4", 1}));
  EXPECT_EQ(parse_rendezvous("[fd00::1]:65535").value(), (Rendezvous{"fd00::1", 65535}));
}

class BadRendezvousTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(BadRendezvousTest, SaysWhatIsExpected) {
  const auto parsed = parse_rendezvous(GetParam());
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("is no host and port such as node1:6105"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Texts, BadRendezvousTest,
                         ::testing::Values("", "node1", "node1:", ":6105", "node1:0", "node1:65536",
                                           "node1:http", "fd00::1", "[]:6105", "node1:-1"));

TEST(RendezvousTest, PortsOfJobsAreBelowThoseTheKernelGivesAway) {
  for (const std::string_view job : {"", "1.0", "1.1", "4294967295.65535"}) {
    EXPECT_GE(port_of_job(job), 10000);
    EXPECT_LT(port_of_job(job), 30000);
  }
  EXPECT_NE(port_of_job("1.0"), port_of_job("1.1"));
}

TEST(RendezvousTest, APortBesideAnotherOneIsAPort) {
  EXPECT_EQ(beside(29500, 97), 29597);
  EXPECT_EQ(beside(65500, 97), 65403);
}

}  // namespace
}  // namespace muster::bench
