// SPDX-License-Identifier: Apache-2.0
// host.stream: bandwidth of the host's memory, of the whole node and of each NUMA node.
#include <fmt/format.h>

#include <algorithm>

#include "bench/node/cpus.hpp"
#include "bench/node/stream.hpp"
#include "bench/node/tests.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::node {
namespace {

void add_values(const std::string& device, const StreamOutcome& outcome,
                std::array<Series, kStreamKernels>& series) {
  for (std::size_t k = 0; k < kStreamKernels; ++k) {
    const auto bytes = static_cast<double>(outcome.bytes) / sizeof(double) *
                       stream_kernels().at(k).bytes_per_element;
    std::vector<double> rates;
    for (const double seconds : outcome.seconds.at(k)) rates.push_back(bytes / seconds / kGiga);
    series.at(k).values.push_back(best_of(device, rates));
    series.at(k).size_bytes = static_cast<std::int64_t>(outcome.bytes);
    series.at(k).iterations = std::ssize(rates);
  }
}

std::array<Series, kStreamKernels> empty_series(bool whole) {
  std::array<Series, kStreamKernels> series;
  for (std::size_t k = 0; k < kStreamKernels; ++k) {
    const auto name = stream_kernels().at(k).name;
    series.at(k).what = whole ? std::string(name) : fmt::format("{} per NUMA node", name);
    series.at(k).quantity = fmt::format("stream_{}", name);
    series.at(k).unit = "GB/s";
    series.at(k).limited = whole;  // a limit holds for the node
  }
  return series;
}

}  // namespace

Result<TestResult> run_host_stream(const TestInput& input) {
  const Root root;
  TRY_ASSIGN(const auto own, own_cpus());
  TRY_ASSIGN(const auto nodes, numa_cpus(root, own));
  std::vector<NumaCpus> parts;
  std::ranges::copy_if(nodes, std::back_inserter(parts),
                       [](const NumaCpus& node) { return !node.cpus.empty(); });
  const auto share = input.time / (parts.size() > 1 ? static_cast<double>(parts.size()) + 1 : 1);
  TestResult result;
  const auto measure = [&](const std::string& device, const std::vector<unsigned>& cpus,
                           std::array<Series, kStreamKernels>& series) -> Result<void> {
    const auto bytes = input.bytes != 0
                           ? input.bytes
                           : stream_array_bytes(cache_bytes(root, cpus), memory_available(root));
    TRY_ASSIGN(const auto outcome, run_stream({.cpus = cpus, .array_bytes = bytes, .time = share}));
    add_values(device, outcome, series);
    if (outcome.wrong == 0) return {};
    result.findings.push_back(broken(
        device,
        fmt::format(
            "{} elements were not what was computed; CPU {} saw the first: memory or processor",
            outcome.wrong, outcome.wrong_cpu)));
    return {};
  };
  auto whole = empty_series(true);
  if (auto done = measure("node", own, whole); !done) return tl::unexpected(done.error());
  std::ranges::move(whole, std::back_inserter(result.series));
  if (parts.size() < 2) return result;
  auto each = empty_series(false);
  for (const auto& part : parts) {
    TRY(measure(fmt::format("numa{}", part.node), part.cpus, each));
  }
  std::ranges::move(each, std::back_inserter(result.series));
  return result;
}

}  // namespace muster::bench::node
