// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/node_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace muster::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Time at(std::int64_t seconds) { return Time(std::chrono::seconds(seconds)); }

NodeMemory a_drain() {
  return {.check = "host.limits",
          .remedy = Remedy::fix_config,
          .at = at(1795372800),
          .boot = "0a1b-2c",
          .clean = 2,
          .settled = true,
          .reason = "bf9cf968",
          .hardware = {"811c9dc5", "e40c292c"},
          .drains = {at(1795372800), at(1795362000)}};
}

constexpr std::string_view kText =
    R"({"muster":1,"check":"host.limits","boot":"0a1b-2c","reason":"bf9cf968",)"
    R"("remedy":"fix_config","at":1795372800,"clean":2,"settled":true,)"
    R"("hardware":["811c9dc5","e40c292c"],"drains":[1795372800,1795362000]})";

TEST(NodeMemoryTest, IsWrittenInOneLineAndReadBack) {
  EXPECT_EQ(to_text(a_drain()), kText);
  EXPECT_EQ(parse_node_memory(kText), a_drain());
  auto all = a_drain();
  all.device = "mlx5_ib5";
  all.last_boot = "3d";
  all.accepted = true;
  EXPECT_EQ(parse_node_memory(to_text(all)), all);
  const NodeMemory refused{.refused = Refusal{at(7), "ib.rate", "mlx5_ib5"}};
  EXPECT_EQ(parse_node_memory(to_text(refused)), refused);
}

TEST(NodeMemoryTest, OnlyTheTimesOfADrainStayAfterIt) {
  const NodeMemory after{.drains = {at(1795372800)}};
  EXPECT_EQ(to_text(after), R"({"muster":1,"drains":[1795372800]})");
  EXPECT_EQ(parse_node_memory(to_text(after)), after);
}

TEST(NodeMemoryTest, TextOfOthersIsIgnored) {
  for (const auto* const text : {"", " ", "rack 7", "{}", R"({"muster":2})", R"(["muster"])",
                                 R"({"rack":7})", R"({"muster":1)", "muster/2"}) {
    EXPECT_EQ(parse_node_memory(text), std::nullopt) << text;
    EXPECT_EQ(may_remember({.memory = text}), *text == '\0' || *text == ' ') << text;
  }
  EXPECT_TRUE(may_remember({.memory = R"({"muster":1})"}));
  EXPECT_TRUE(may_remember({.memory = "muster/1 clean=0"}));  // of earlier versions
}

TEST(NodeMemoryTest, AValueOfTheWrongTypeIsTreatedAsMissing) {
  const auto memory = parse_node_memory(
      R"({"muster":1,"check":7,"at":"x","clean":-1,"drains":[1,"y",99999999999999999,2],)"
      R"("accepted":"yes","hardware":"x","refused":[],"remedy":"pray"})");
  ASSERT_TRUE(memory);
  EXPECT_EQ(*memory, (NodeMemory{.remedy = Remedy::reseat_or_replace, .drains = {at(1), at(2)}}));
  EXPECT_EQ(parse_node_memory(R"({"muster":1,"clean":18446744073709551615})")->clean, 2147483646);
}

TEST(NodeMemoryTest, IsOneLineOfPrintableAscii) {
  auto memory = a_drain();
  memory.device = "/mnt/a b\n|\xc3\xbc";
  const auto text = to_text(memory);
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7F; })) << text;
  EXPECT_EQ(parse_node_memory(text)->device, "/mnt/a b\\x0a|\xc3\xbc");
}

TEST(NodeMemoryTest, KeepsALimitedNumberOfDrains) {
  NodeMemory memory;
  for (int i = 0; i < 100; ++i) memory.drains.push_back(at(1000 - i));
  EXPECT_EQ(parse_node_memory(to_text(memory))->drains.size(), kMaxDrains);
  EXPECT_EQ(parse_node_memory(to_text(memory))->drains.front(), at(1000));
}

TEST(HashHardwareTest, IsTheSameEverywhere) {
  EXPECT_THAT(hash_hardware("a  foobar"), ElementsAre("e40c292c", "bf9cf968"));
  EXPECT_THAT(hash_hardware(""), IsEmpty());
}

}  // namespace
}  // namespace muster::slurm
