// SPDX-License-Identifier: Apache-2.0
#include "lib/base/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"

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

enum class Colour { red, green };

constexpr std::array<std::string_view, 2> json_words(Colour /*type*/) { return {"red", "green"}; }

struct Lamp {
  static constexpr std::string_view kSchema = "lamp/1";
  MUSTER_DESCRIBED(Lamp);
  MUSTER_REQUIRED(std::string, name, "");
  MUSTER_FIELD(Colour, colour, "") = Colour::green;
  MUSTER_FIELD(Fact<unsigned>, watts, "");
  MUSTER_FIELD(std::optional<double>, hours, "");
  MUSTER_UNLESS_EMPTY(std::vector<int>, spares, "");
};

std::string error_of(std::string_view text) {
  const auto lamp = from_json<Lamp>(text);
  return lamp ? "" : lamp.error().message;
}

TEST(DescribedJsonTest, RoundTrips) {
  const Lamp dark{.name = "a", .colour = Colour::red, .watts = Fact<unsigned>::unreadable("why")};
  EXPECT_EQ(to_json_line(dark), R"({"schema":"lamp/1","name":"a","colour":"red",)"
                                R"("watts":{"$unreadable":"why"},"hours":null})");
  const Lamp lit{.name = "b", .watts = 60U, .hours = 1.5, .spares = {1, -2}};
  for (const auto& lamp : {dark, lit}) EXPECT_EQ(from_json<Lamp>(to_json_line(lamp)), lamp);
}

TEST(DescribedJsonTest, KeepsDefaultsOfMissingKeys) {
  EXPECT_EQ(from_json<Lamp>(R"({"schema":"lamp/1","name":"a","new":1})"), Lamp{.name = "a"});
}

TEST(DescribedJsonTest, NamesThePlaceOfAnError) {
  EXPECT_EQ(error_of("[]"), "/: expected an object");
  EXPECT_EQ(error_of(R"({"schema":"lamp/2"})"), R"(/schema: expected "lamp/1", got "lamp/2")");
  EXPECT_EQ(error_of(R"({"schema":"lamp/1"})"), "/name: missing");
  EXPECT_EQ(error_of(R"({"schema":"lamp/1","name":"a","colour":"blue"})"),
            "/colour: expected red or green");
  EXPECT_EQ(error_of(R"({"schema":"lamp/1","name":"a","spares":[1,"x"]})"),
            "/spares/1: expected a whole number");
}

}  // namespace
}  // namespace muster
