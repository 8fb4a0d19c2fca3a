// SPDX-License-Identifier: Apache-2.0
// host.disk: sequential and random reads of each local NVMe disk. Reads only.
#include <fmt/format.h>

#include <array>

#include "bench/node/disk_reads.hpp"
#include "bench/node/tests.hpp"

namespace muster::bench::node {
namespace {

struct Way {
  std::string_view what, quantity, unit;
  std::uint32_t block;
  unsigned depth;
  bool random;
  double unit_bytes;  // bytes per second that one of the unit is
};

constexpr std::uint32_t kSmall = 4096;
constexpr std::array kWays{
    Way{"sequential read", "sequential_read", "GB/s", 1U << 20U, 32, false, 1e9},
    Way{"random read of 4 KiB", "random_read", "kIOPS", kSmall, 128, true, 1e3 * kSmall}};

}  // namespace

Result<TestResult> run_host_disk(const TestInput& input) {
  const Root root;
  TRY_ASSIGN(const auto disks, local_disks(root));
  if (disks.empty()) return make_missing("this node has no local NVMe disk");
  TestResult result;
  const auto share = input.time / static_cast<double>(disks.size() * kWays.size());
  for (const auto& way : kWays) {
    Series series{.what = std::string(way.what),
                  .quantity = std::string(way.quantity),
                  .unit = std::string(way.unit),
                  .tolerance = 0.1,
                  .size_bytes = way.block};
    for (const auto& disk : disks) {
      const auto read = read_disk({.path = disk.device,
                                   .size = disk.bytes,
                                   .block = way.block,
                                   .depth = way.depth,
                                   .random = way.random,
                                   .time = share});
      if (!read) {
        result.findings.push_back(unjudged(disk.name, read.error().message));
        continue;
      }
      if (read->failed > 0) {
        result.findings.push_back(
            broken(disk.name, fmt::format("{} of {} reads failed, the first {}", read->failed,
                                          read->reads, read->first_failure)));
      }
      std::vector<double> rates;
      for (const double rate : read->bytes_per_second) rates.push_back(rate / way.unit_bytes);
      series.add(disk.name, rates).group = disk.model;
    }
    result.add(std::move(series));
  }
  return result;
}

}  // namespace muster::bench::node
