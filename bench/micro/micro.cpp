// SPDX-License-Identifier: Apache-2.0
// Measures the cost of parsing, judging and reporting, with the simulated healthy ND H100 v5 node
// of the tests as input.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "checks/run.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/probes/kernel_log.hpp"
#include "lib/profile/load.hpp"
#include "lib/report/format.hpp"

namespace muster {
namespace {

constexpr const char* kSource = MUSTER_SOURCE_DIR;
constexpr const char* kProfile = "nd96isr_h100_v5";

std::string recorded_node() {
  std::ostringstream content;
  content
      << std::ifstream(fmt::format("{}/tests/nodes/simulated/{}.json", kSource, kProfile)).rdbuf();
  return content.str();
}

template <class T>
T value_or_exit(Result<T> result) {
  if (result) return std::move(*result);
  std::cerr << result.error().message << '\n';
  std::exit(EXIT_FAILURE);
}

Snapshot node() { return value_or_exit(parse_snapshot(recorded_node())); }

ProfileSources sources() { return {.shipped = fmt::format("{}/configs/profiles", kSource)}; }

Profile profile() { return value_or_exit(load_profile(sources(), kProfile)); }

Report report() { return judge(node(), profile(), {}); }

void parse_a_snapshot(benchmark::State& state) {
  const std::string text = recorded_node();
  while (state.KeepRunning()) benchmark::DoNotOptimize(parse_snapshot(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void write_a_snapshot(benchmark::State& state) {
  const Snapshot snapshot = node();
  while (state.KeepRunning()) benchmark::DoNotOptimize(to_json(snapshot));
}

void read_the_kernel_log(benchmark::State& state) {
  std::vector<std::string> records;
  records.reserve(2000);
  for (int i = 0; i < 2000; ++i) {
    records.push_back(
        fmt::format("6,{},{},-;systemd[1]: Started unit {} of many.", i, 1000 * i, i));
  }
  while (state.KeepRunning()) {
    KmsgCollector collector;
    for (const auto& record : records) collector.add(record);
    benchmark::DoNotOptimize(collector.finish());
  }
}

void load_a_profile(benchmark::State& state) {
  while (state.KeepRunning()) benchmark::DoNotOptimize(load_profile(sources(), kProfile));
}

void judge_every_check(benchmark::State& state) {
  const Snapshot snapshot = node();
  const Profile limits = profile();
  while (state.KeepRunning()) benchmark::DoNotOptimize(judge(snapshot, limits, {}));
}

void report_as_text(benchmark::State& state) {
  const Report judged = report();
  while (state.KeepRunning()) benchmark::DoNotOptimize(to_text(judged));
}

void report_as_json(benchmark::State& state) {
  const Report judged = report();
  while (state.KeepRunning()) benchmark::DoNotOptimize(to_json(judged));
}

void report_as_prometheus(benchmark::State& state) {
  const Report judged = report();
  while (state.KeepRunning()) benchmark::DoNotOptimize(to_prometheus(judged));
}

BENCHMARK(parse_a_snapshot)->Unit(benchmark::kMicrosecond);
BENCHMARK(write_a_snapshot)->Unit(benchmark::kMicrosecond);
BENCHMARK(read_the_kernel_log)->Unit(benchmark::kMicrosecond);
BENCHMARK(load_a_profile)->Unit(benchmark::kMicrosecond);
BENCHMARK(judge_every_check)->Unit(benchmark::kMicrosecond);
BENCHMARK(report_as_text)->Unit(benchmark::kMicrosecond);
BENCHMARK(report_as_json)->Unit(benchmark::kMicrosecond);
BENCHMARK(report_as_prometheus)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace muster
