// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/node_memory.hpp"

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
          .remedy = "fix_config",
          .at = at(1795372800),
          .boot = "0a1b-2c",
          .clean = 2,
          .drains = {at(1795372800), at(1795362000)},
          .hardware = {"811c9dc5", "e40c292c"},
          .reason = "bf9cf968"};
}

constexpr std::string_view kText =
    "muster/1 check=host.limits device=- remedy=fix_config at=1795372800 boot=0a1b-2c clean=2 "
    "drains=1795372800,1795362000 hardware=811c9dc5,e40c292c reason=bf9cf968";

TEST(NodeMemoryTest, IsWrittenInOneLineAndReadBack) {
  EXPECT_EQ(to_text(a_drain()), kText);
  EXPECT_EQ(parse_node_memory(kText), a_drain());
}

TEST(NodeMemoryTest, AfterADrainOnlyItsTimesStay) {
  const NodeMemory after{.drains = {at(1795372800)}};
  EXPECT_EQ(to_text(after), "muster/1 clean=0 drains=1795372800");
  EXPECT_EQ(parse_node_memory(to_text(after)), after);
}

TEST(NodeMemoryTest, KeepsTheWordsOfANewerMuster) {
  const auto memory = parse_node_memory("muster/1 check=a.b accepted=yes new=1 shelf=x,y");
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memory->accepted);
  EXPECT_EQ(memory->more, "new=1 shelf=x,y");
  EXPECT_EQ(parse_node_memory(to_text(*memory)), memory);
}

TEST(NodeMemoryTest, TextOfOthersIsNone) {
  for (const auto* const text :
       {"", " ", "rack 7", "muster/2 check=a", "muster/10", "{\"muster/1\": 1}", "Muster/1"}) {
    EXPECT_EQ(parse_node_memory(text), std::nullopt) << text;
  }
  EXPECT_TRUE(may_remember({}));
  EXPECT_TRUE(may_remember({.memory = "muster/1 clean=0"}));
  EXPECT_FALSE(may_remember({.memory = "rack 7"}));
  EXPECT_FALSE(may_remember({.memory = "muster/2"}));
}

TEST(NodeMemoryTest, AValueThatCannotBeReadIsNotThere) {
  const auto memory =
      parse_node_memory("muster/1 at=x clean=-1 drains=1,,y,99999999999999999999,2 accepted=no =");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->at, at(0));
  EXPECT_EQ(memory->clean, 0);
  EXPECT_THAT(memory->drains, ElementsAre(at(1), at(2)));
  EXPECT_FALSE(memory->accepted);
  EXPECT_EQ(parse_node_memory("muster/1 clean=18446744073709551615")->clean, 2147483646);
}

TEST(NodeMemoryTest, NoValueMeansAnythingToAShell) {
  auto memory = a_drain();
  memory.device = "/mnt/a b;$(rm)`'\"\n|\xc3\xbc";
  const auto text = to_text(memory);
  EXPECT_TRUE(std::ranges::none_of(text, [](char c) {
    return std::string_view(";$()`'\"\n|*?\\<>&!~{}[]#").find(c) != std::string_view::npos ||
           static_cast<unsigned char>(c) >= 0x7F;
  })) << text;
  EXPECT_EQ(parse_node_memory(text)->device, "/mnt/a_b___rm________");
}

TEST(NodeMemoryTest, RemembersSoManyDrains) {
  NodeMemory memory;
  for (int i = 0; i < 100; ++i) memory.drains.push_back(at(1000 - i));
  EXPECT_EQ(parse_node_memory(to_text(memory))->drains.size(), kMostDrains);
  EXPECT_EQ(parse_node_memory(to_text(memory))->drains.front(), at(1000));
}

TEST(HashHardwareTest, IsTheSameEverywhere) {
  EXPECT_THAT(hash_hardware("a  foobar"), ElementsAre("e40c292c", "bf9cf968"));
  EXPECT_THAT(hash_hardware(""), IsEmpty());
}

}  // namespace
}  // namespace muster::slurm
