// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/identity.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

constexpr std::string_view kKey = "PhysicalHostNameFullyQualified";

TEST(KvpParseTest, FindsThePhysicalHostAmongOtherRecords) {
  const auto pool = fmt::format("{}{}{}",
                                kvp_record("HostName", "a"),
                                kvp_record(kKey, "host-7.example.net"),
                                kvp_record("VirtualMachineName", "b"));
  EXPECT_EQ(parse_physical_host(pool), Result<std::string>("host-7.example.net"));
}

TEST(KvpParseTest, IsMissingWhereTheHostHasNotGivenItsName) {
  EXPECT_EQ(
      parse_physical_host(kvp_record("HostName", "a")),
      Result<std::string>(make_missing("the host has not given its name in the key-value pool")));
}

TEST(KvpParseTest, IsMissingInAnEmptyPool) { EXPECT_TRUE(parse_physical_host("").error().missing); }

TEST(KvpParseTest, RefusesAPoolThatEndsWithinARecord) {
  EXPECT_EQ(parse_physical_host(kvp_record("HostName", "a").substr(0, 2559)),
            Result<std::string>(make_error("the key-value pool ends within a record")));
}

TEST(KvpParseTest, FindsTheNameBeforeATruncatedRecord) {
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, "host-7").append("rest")),
            Result<std::string>("host-7"));
}

TEST(KvpParseTest, RefusesANameThatIsNoHostNameWithoutRepeatingIt) {
  const Result<std::string> refused(make_error("the key-value pool holds no valid host name"));
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, "")), refused);
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, "a b")), refused);
  EXPECT_EQ(parse_physical_host(kvp_record(kKey, std::string(2048, 'a'))), refused);
}

TEST(KvpParseTest, DoesNotTakeAValueForAKey) {
  EXPECT_TRUE(parse_physical_host(kvp_record("Note", kKey)).error().missing);
}

}  // namespace
}  // namespace muster
