// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/link_errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/printers.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LinkErrorsTest, SplitsFieldsOfNames) {
  std::string block(96, '\0');
  block.replace(0, 11, "rx_packets ");
  block.replace(32, 32, "rx_a_name_of_thirty_two_bytes_ph");
  block.replace(64, 2, "\x01x");
  EXPECT_THAT(split_names(block),
              ElementsAre("rx_packets", "rx_a_name_of_thirty_two_bytes_ph", "\\x01x"));
  EXPECT_THAT(split_names("short"), IsEmpty());
}

// The loopback device counts nothing of its own, and nothing is a name of no interface.
TEST(LinkErrorsTest, AnInterfaceWithoutStatisticsHasNone) {
  EXPECT_THAT(read_statistics("lo").error().message, HasSubstr("lo"));
  EXPECT_THAT(read_statistics("no-such-0").error().message, HasSubstr("No such device"));
  EXPECT_THAT(read_link_errors("lo"), IsEmpty());
}

}  // namespace
}  // namespace muster
