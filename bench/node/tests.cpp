// SPDX-License-Identifier: Apache-2.0
#include "bench/node/tests.hpp"

#include <algorithm>
#include <array>

namespace muster::bench::node {
namespace {

constexpr std::array kTests{
    NodeTest{.name = "host.stream",
             .about = "copy, scale, add, triad over all CPUs; per NUMA node and whole",
             .check = "bench.stream",
             .quick_s = 4,
             .full_s = 20,
             .limit = "stream",
             .bounds = bounds_of<&BenchLimits::stream>,
             .run = run_host_stream},
    NodeTest{.name = "host.latency",
             .about = "memory latency from each NUMA node to each; between CPUs",
             .check = "bench.memory_latency",
             .quick_s = 2,
             .full_s = 15,
             .run = run_host_latency},
    NodeTest{.name = "host.disk",
             .about = "sequential and random reads of local NVMe disks, past the page cache",
             .check = "bench.disk_read",
             .quick_s = 4,
             .full_s = 20,
             .run = run_host_disk},
};

}  // namespace

std::span<const NodeTest> node_tests() { return kTests; }

const NodeTest* find_test(std::string_view name) {
  const auto* const found = std::ranges::find(kTests, name, &NodeTest::name);
  return found == kTests.end() ? nullptr : found;
}

}  // namespace muster::bench::node
