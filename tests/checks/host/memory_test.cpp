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

TEST(HostMemoryTest, PassesWithinTheBand) {
  EXPECT_THAT(
      judge(95 * kGib),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::pass,
                          .message = "95.0 GiB of memory, every NUMA node with CPUs has memory"}));
}

TEST(HostMemoryTest, FailsBelowTheBand) {
  EXPECT_THAT(judge(94 * kGib),
              ElementsAre(Finding{
                  .device = "node",
                  .outcome = Outcome::fail,
                  .message = "94.0 GiB of memory, less than the expected 100.0 GiB within 5%",
                  .observed = std::int64_t{94 * kGib},
                  .limit = std::int64_t{100 * kGib},
                  .unit = "B",
                  .remedy = Remedy::reseat_or_replace}));
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
              ElementsAre(Finding{
                  .device = "node",
                  .outcome = Outcome::fail,
                  .message = "106.0 GiB of memory, more than the expected 100.0 GiB within 5%",
                  .observed = std::int64_t{106 * kGib},
                  .limit = std::int64_t{100 * kGib},
                  .unit = "B",
                  .remedy = Remedy::fix_config}));
}

TEST(HostMemoryTest, FailsANumaNodeThatHasCpusAndNoMemory) {
  Cpu cpu = kTwoNodes;
  cpu.numa_nodes->at(1).memory_bytes = std::uint64_t{0};
  EXPECT_THAT(judge(100 * kGib, cpu),
              ElementsAre(Finding{.device = "numa1",
                                  .outcome = Outcome::fail,
                                  .message = "NUMA node 1 has CPUs 48-95 and no memory",
                                  .observed = std::int64_t{0},
                                  .unit = "B",
                                  .remedy = Remedy::reseat_or_replace}));
}

TEST(HostMemoryTest, AcceptsEmptyNumaNodesWithoutCpus) {
  Cpu cpu = kTwoNodes;
  cpu.numa_nodes->push_back({.id = 2, .cpus = std::string(), .memory_bytes = std::uint64_t{0}});
  EXPECT_THAT(
      judge(100 * kGib, cpu),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::pass,
                          .message = "100.0 GiB of memory, every NUMA node with CPUs has memory"}));
}

TEST(HostMemoryTest, IsUndecidedWhereTheSizeCouldNotBeRead) {
  EXPECT_THAT(
      judge(Fact<std::uint64_t>::unreadable("meminfo: no MemTotal")),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::unknown,
                          .message = "the memory size is not known: meminfo: no MemTotal"}));
}

TEST(HostMemoryTest, IsUndecidedWhereTheMemoryOfANumaNodeCouldNotBeRead) {
  Cpu cpu = kTwoNodes;
  cpu.numa_nodes->at(0).memory_bytes = Fact<std::uint64_t>::unreadable("node0/meminfo: empty");
  EXPECT_THAT(judge(100 * kGib, cpu),
              ElementsAre(Finding{
                  .device = "numa0",
                  .outcome = Outcome::unknown,
                  .message = "the memory of the NUMA node is not known: node0/meminfo: empty"}));
}

TEST(HostMemoryTest, JudgesNumaNodesWithoutAnExpectedSize) {
  EXPECT_THAT(
      judge(94 * kGib, kTwoNodes, {}),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::pass,
                          .message = "94.0 GiB of memory, every NUMA node with CPUs has memory"}));
}

TEST(HostMemoryTest, IsUndecidedWhereThereIsNothingToLookAt) {
  EXPECT_THAT(
      judge(94 * kGib,
            {.numa_nodes = Fact<std::vector<NumaNode>>::absent("no /sys/devices/system/node")}, {}),
      ElementsAre(
          Finding{.device = "node",
                  .outcome = Outcome::unknown,
                  .message = "the list of NUMA nodes is not known: no /sys/devices/system/node"}));
}

}  // namespace
}  // namespace muster::host_memory_test
