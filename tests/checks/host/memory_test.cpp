// SPDX-License-Identifier: Apache-2.0
// host.memory judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_memory_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kGib = 1024UL * 1024 * 1024;

const Cpu kTwoNodes{.numa_nodes = std::vector<NumaNode>{
                        {.id = 0, .cpus = std::string("0-47"), .memory_bytes = 50 * kGib},
                        {.id = 1, .cpus = std::string("48-95"), .memory_bytes = 50 * kGib}}};
const Profile kHundredGib{
    .host = HostLimits{.memory = {.total = Bytes{100.0 * kGib}, .tolerance = Percent{5}}}};

Findings judge(Fact<std::uint64_t> total, Cpu cpu = kTwoNodes,
               const Profile& profile = kHundredGib) {
  return ask(checks::host_memory::check,
             {.cpu = observed(std::move(cpu)),
              .memory = observed(Memory{.total_bytes = std::move(total)})},
             profile);
}

TEST(HostMemoryTest, PassesWithinTheBand) { EXPECT_THAT(judge(95 * kGib), ElementsAre(passes())); }

TEST(HostMemoryTest, FailsBelowTheBand) {
  EXPECT_THAT(judge(94 * kGib),
              ElementsAre(fails("node", Remedy::reseat_or_replace,
                                {std::int64_t{94 * kGib}, std::int64_t{100 * kGib}, "B"})));
}

TEST(HostMemoryTest, TheMemoryOfGpusIsNotTheProcessors) {
  Cpu with_gpus = kTwoNodes;
  with_gpus.numa_nodes->push_back({.id = 4, .cpus = std::string(), .memory_bytes = 180 * kGib});
  EXPECT_EQ(judge(280 * kGib, with_gpus).front().outcome, Outcome::pass);
  with_gpus.numa_nodes->front().memory_bytes = 20 * kGib;
  EXPECT_EQ(judge(250 * kGib, with_gpus).front().outcome, Outcome::fail);
}

TEST(HostMemoryTest, FailsAboveTheBandAsAnotherKindOfNode) {
  EXPECT_THAT(judge(106 * kGib),
              ElementsAre(fails("node", Remedy::fix_config,
                                {std::int64_t{106 * kGib}, std::int64_t{100 * kGib}, "B"})));
}

TEST(HostMemoryTest, FailsANumaNodeThatHasCpusAndNoMemory) {
  Cpu cpu = kTwoNodes;
  cpu.numa_nodes->at(1).memory_bytes = std::uint64_t{0};
  EXPECT_THAT(judge(100 * kGib, cpu),
              ElementsAre(fails("numa1", Remedy::reseat_or_replace, {std::int64_t{0}, {}, "B"})));
}

TEST(HostMemoryTest, AcceptsEmptyNumaNodesWithoutCpus) {
  Cpu cpu = kTwoNodes;
  cpu.numa_nodes->push_back({.id = 2, .cpus = std::string(), .memory_bytes = std::uint64_t{0}});
  EXPECT_THAT(judge(100 * kGib, cpu), ElementsAre(passes()));
}

TEST(HostMemoryTest, IsUndecidedWhereTheSizeCouldNotBeRead) {
  EXPECT_THAT(judge(Fact<std::uint64_t>::unreadable("meminfo: no MemTotal")),
              ElementsAre(unknown()));
}

TEST(HostMemoryTest, IsUndecidedWhereTheMemoryOfANumaNodeCouldNotBeRead) {
  Cpu cpu = kTwoNodes;
  cpu.numa_nodes->at(0).memory_bytes = Fact<std::uint64_t>::unreadable("node0/meminfo: empty");
  EXPECT_THAT(judge(100 * kGib, cpu), ElementsAre(unknown("numa0")));
}

TEST(HostMemoryTest, JudgesNumaNodesWithoutAnExpectedSize) {
  EXPECT_THAT(judge(94 * kGib, kTwoNodes, {}), ElementsAre(passes()));
}

TEST(HostMemoryTest, IsUndecidedWhereThereIsNothingToLookAt) {
  EXPECT_THAT(
      judge(94 * kGib,
            {.numa_nodes = Fact<std::vector<NumaNode>>::absent("no /sys/devices/system/node")}, {}),
      ElementsAre(unknown()));
}

}  // namespace
}  // namespace muster::host_memory_test
