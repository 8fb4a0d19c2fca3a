// SPDX-License-Identifier: Apache-2.0
#include "lib/base/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

TEST(JsonTest, RoundTrips) {
  const nlohmann::json json{{"name", "gpu-1"}, {"ports", {1, 2}}, {"speed", 0.5}};
  const auto line = json_line(json);
  EXPECT_EQ(line, R"({"name":"gpu-1","ports":[1,2],"speed":0.5})");
  const auto read = parse_json(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, json);
}

TEST(JsonTest, NamesThePlaceOfASyntaxError) {
  const auto read = parse_json("{\"a\": 1,\n \"b\" 2}");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, testing::HasSubstr("line 2, column 6"));
  EXPECT_THAT(read.error().message, testing::StartsWith("parse error"));
  EXPECT_FALSE(parse_json(""));
}

TEST(JsonTest, ReplacesInvalidUtf8) { EXPECT_EQ(json_line("a\xff"), "\"a\xef\xbf\xbd\""); }

}  // namespace
}  // namespace muster
