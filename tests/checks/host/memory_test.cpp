// SPDX-License-Identifier: Apache-2.0
// Memory, swap and huge pages judged on literal nodes.

#include "tests/checks/ask.hpp"

namespace muster::host_memory_test {
namespace {

constexpr std::uint64_t kGib = 1024UL * 1024 * 1024;

namespace host_memory {

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

TEST(HostMemoryTest, TheMemoryOfGpusIsNotTheProcessors) {
  Cpu with_gpus = kTwoNodes;
  with_gpus.numa_nodes->push_back({.id = 4, .cpus = std::string(), .memory_bytes = 180 * kGib});
  EXPECT_EQ(judge(280 * kGib, with_gpus).front().outcome, Outcome::pass);
  with_gpus.numa_nodes->front().memory_bytes = 20 * kGib;
  EXPECT_EQ(judge(250 * kGib, with_gpus).front().outcome, Outcome::fail);
}

TEST(HostMemoryTest, AcceptsEmptyNumaNodesWithoutCpus) {
  Cpu cpu = kTwoNodes;
  cpu.numa_nodes->push_back({.id = 2, .cpus = std::string(), .memory_bytes = std::uint64_t{0}});
  EXPECT_THAT(judge(100 * kGib, cpu), ElementsAre(passes()));
}

TEST(HostMemoryTest, IsUnknownIfTheMemoryOfANumaNodeCouldNotBeRead) {
  Cpu cpu = kTwoNodes;
  cpu.numa_nodes->at(0).memory_bytes = make_error("node0/meminfo: empty");
  EXPECT_THAT(judge(100 * kGib, cpu), ElementsAre(unknown("numa0")));
}

TEST(HostMemoryTest, JudgesEachCase) {
  expect_each({
      {"passes within the band", judge(95 * kGib), {passes()}},
      {"fails above the band as another kind of node",
       judge(106 * kGib),
       {fails("node", Remedy::fix_config,
              {std::int64_t{106 * kGib}, std::int64_t{100 * kGib}, "B"})}},
      {"is unknown if the size could not be read",
       judge(make_error("meminfo: no MemTotal")),
       {unknown()}},
      {"judges NUMA nodes without an expected size", judge(94 * kGib, kTwoNodes, {}), {passes()}},
      {"is unknown if there is nothing to look at",
       judge(94 * kGib, {.numa_nodes = make_missing("no /sys/devices/system/node")}, {}),
       {unknown()}},
  });
}

}  // namespace host_memory

namespace host_memory_available {

Findings judge(Memory memory) {
  return ask(checks::host_memory_available::check, {.memory = observed(std::move(memory))},
             {.host = HostLimits{.memory_available = {.warn_below = Percent{5}}}});
}

TEST(HostMemoryAvailableTest, JudgesEachCase) {
  const std::uint64_t none = 0;
  expect_each({
      {"passes at the limit",
       judge({.total_bytes = 100 * kGib, .available_bytes = 5 * kGib}),
       {passes()}},
      {"is unknown without the available memory",
       judge({.total_bytes = 100 * kGib, .available_bytes = make_error("no MemAvailable")}),
       {unknown()}},
      {"is unknown without the memory size",
       judge({.total_bytes = make_error("meminfo: empty"), .available_bytes = kGib}),
       {unknown()}},
      {"is unknown without any memory",
       judge({.total_bytes = none, .available_bytes = none}),
       {unknown()}},
  });
}

}  // namespace host_memory_available

namespace host_swap {

Findings judge(Fact<std::uint64_t> total, Limit<Bytes> expected) {
  return ask(checks::host_swap::check,
             {.memory = observed(Memory{.swap_total_bytes = std::move(total)})},
             {.host = HostLimits{.swap = {.total = expected}}});
}

TEST(HostSwapTest, JudgesEachCase) {
  expect_each({
      {"warns of missing swap",
       judge(std::uint64_t{0}, Bytes{2.0 * kGib}),
       {warns("node", Remedy::fix_config, {std::int64_t{0}, std::int64_t{2 * kGib}, "B"})}},
      {"forgives the page that the header takes",
       judge(2 * kGib - 4096, Bytes{2.0 * kGib}),
       {passes()}},
      {"is unknown if the size could not be read",
       judge(make_error("meminfo: no SwapTotal"), Bytes{0}),
       {unknown()}},
  });
}

}  // namespace host_swap

namespace host_hugepages {

const Bytes kTwoMib{2.0 * 1024 * 1024};

Findings judge(Fact<std::vector<HugePages>> pages, std::vector<HugePageLimit> limits) {
  return ask(checks::host_hugepages::check,
             {.memory = observed(Memory{.huge_pages = std::move(pages)})},
             {.host = HostLimits{.hugepages = {.pages = std::move(limits)}}});
}

std::vector<HugePages> pages_of_2_mib(std::uint64_t total, std::uint64_t free) {
  return {{.size_kib = 2048, .total = total, .free = free}};
}

TEST(HostHugepagesTest, JudgesEachCase) {
  expect_each({
      {"passes with the expected pages",
       judge(pages_of_2_mib(512, 500), {{.size = kTwoMib, .count = 512, .free = 500}}),
       {passes()}},
      {"warns of pages that are not free",
       judge(pages_of_2_mib(512, 1), {{.size = kTwoMib, .free = 500}}),
       {warns("hugepages-2048kB", Remedy::fix_config,
              {std::int64_t{1}, std::int64_t{500}, "pages"})}},
      {"warns of a size that the kernel does not offer",
       judge(pages_of_2_mib(0, 0), {{.size = Bytes{1024.0 * 1024 * 1024}, .count = 16}}),
       {warns("hugepages-1048576kB", Remedy::fix_config,
              {std::int64_t{0}, std::int64_t{16}, "pages"})}},
      {"is unknown if the number could not be read",
       judge(std::vector<HugePages>{{.size_kib = 2048, .total = make_error("nr_hugepages: empty")}},
             {{.size = kTwoMib, .count = 512}}),
       {unknown("hugepages-2048kB")}},
      {"is unknown if nothing is known",
       judge(make_missing("no hugepages directory"), {{.size = kTwoMib, .count = 512}}),
       {unknown()}},
  });
}

}  // namespace host_hugepages

}  // namespace
}  // namespace muster::host_memory_test
