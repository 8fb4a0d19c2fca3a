// SPDX-License-Identifier: Apache-2.0
// host.latency: the latency of memory, from each NUMA node to each, and of a store between two
// CPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>

#include "bench/backends/nccl/binding.hpp"
#include "bench/node/host.hpp"
#include "bench/node/test.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::node {
namespace {

using Nanoseconds = std::chrono::duration<double, std::nano>;
using Span = std::chrono::duration<double>;

// A cache line with the index of the next one.
struct alignas(64) ChainLine {
  std::uint64_t next = 0;
};

// Makes one cycle through all lines in random order, which prefetchers cannot predict.
void make_cycle(ChainLine* lines, std::uint64_t count) {
  std::mt19937_64 random(7);
  for (std::uint64_t i = 0; i < count; ++i) lines[i].next = i;
  for (std::uint64_t i = count - 1; i > 0; --i) std::swap(lines[i].next, lines[random() % i].next);
}

struct ChaseTimes {
  std::vector<double> nanoseconds;  // of a step, by batch
  bool lost = false;                // a line held an invalid index
};

ChaseTimes chase(const ChainLine* lines, std::uint64_t count, Span time) {
  constexpr int kBatch = 20000;
  constexpr std::size_t kMin = 5;
  ChaseTimes result;
  std::uint64_t at = 0;
  const auto end = Clock::now() + time;
  while (result.nanoseconds.size() < kMin || Clock::now() < end) {
    const auto begin = Clock::now();
    for (int i = 0; i < kBatch; ++i) at = lines[at < count ? at : 0].next;
    result.nanoseconds.push_back(Nanoseconds(Clock::now() - begin).count() / kBatch);
    result.lost = result.lost || at >= count;
  }
  return result;
}

// The kernel's distance between two nodes, or an empty text. Nodes at the same distance are
// compared.
std::string distance_of(const Root& root, unsigned from, std::size_t place) {
  const auto line = root.read_line(fmt::format("/sys/devices/system/node/node{}/distance", from));
  if (!line) return {};
  const auto words = split_words(*line);
  return place < words.size() ? std::string(words[place]) : std::string();
}

class MemoryLatency {
 public:
  MemoryLatency(const TestInput& input, std::vector<NumaCpus> nodes, std::uint64_t bytes)
      : input_(input), nodes_(std::move(nodes)), bytes_(bytes) {}

  [[nodiscard]] Result<void> measure(TestResult& result) {
    Series series{.what = "memory latency",
                  .quantity = "memory_latency",
                  .unit = "ns",
                  .less_is_better = true,
                  .tolerance = 0.1,
                  .size_bytes = static_cast<std::int64_t>(bytes_)};
    std::vector<std::string> names;
    for (const auto& node : nodes_) names.push_back(fmt::format("numa{}", node.node));
    auto matrix =
        empty_matrix("memory latency in ns, from CPUs (rows) to memory (columns)", "ns", names);
    matrix.more_is_better = false;
    for (std::size_t memory = 0; memory < nodes_.size(); ++memory) {
      TRY(measure_to(memory, series, matrix, result));
    }
    result.series.push_back(std::move(series));
    result.add(std::move(matrix));
    return {};
  }

 private:
  [[nodiscard]] Result<void> measure_to(std::size_t memory, Series& series, Matrix& matrix,
                                        TestResult& result) {
    TRY_ASSIGN(auto made, FreshMemory::reserve(bytes_));
    if (nodes_.size() > 1) TRY(made.bind_to(nodes_[memory].node));
    auto* lines = made.as<ChainLine>();
    const auto count = bytes_ / sizeof(ChainLine);
    make_cycle(lines, count);
    const auto share = input_.time / (2.0 * static_cast<double>(nodes_.size() * nodes_.size()));
    for (std::size_t from = 0; from < nodes_.size(); ++from) {
      const auto& cpus = nodes_[from].cpus;
      if (cpus.empty()) continue;
      ChaseTimes steps;
      const std::array one{cpus[cpus.size() / 2]};
      TRY(on_each(one, [&](std::size_t) { steps = chase(lines, count, share); }));
      auto& value = series.add(from == memory
                                   ? matrix.names[from]
                                   : fmt::format("{}-{}", matrix.names[from], matrix.names[memory]),
                               steps.nanoseconds);
      value.group = distance_of(Root(), nodes_[from].node, memory);
      matrix.cells[from][memory] = value.value;
      if (steps.lost) {
        result.findings.push_back(broken(value.device, "memory did not hold the chain of indices"));
      }
    }
    return {};
  }

  const TestInput& input_;
  std::vector<NumaCpus> nodes_;
  std::uint64_t bytes_;
};

// Half of a round trip, the least of some batches, since interrupts only add time.
Result<double> latency_between(unsigned first, unsigned second) {
  constexpr std::uint64_t kTrips = 200;
  constexpr int kBatches = 5;

  struct alignas(128) Ball {
    std::atomic<std::uint64_t> holder{0};
  } ball;

  double best = 1e12;
  const std::array both{first, second};
  TRY(on_each(both, [&](std::size_t self) {
    for (int batch = 0; batch < kBatches; ++batch) {
      const auto begin = Clock::now();
      const std::uint64_t origin = static_cast<std::uint64_t>(batch) * 2 * kTrips;
      for (std::uint64_t trip = 0; trip < kTrips; ++trip) {
        const auto mine = origin + 2 * trip + self;
        while (ball.holder.load(std::memory_order_acquire) != mine) {
        }
        ball.holder.store(mine + 1, std::memory_order_release);
      }
      const double trip = Nanoseconds(Clock::now() - begin).count() / kTrips;
      if (self == 0) best = std::min(best, trip / 2);
    }
  }));
  return best;
}

// Returns at most `most` CPUs, spread over the node.
std::vector<unsigned> sample_of(const std::vector<unsigned>& cpus, std::size_t most) {
  if (cpus.size() <= most) return cpus;
  std::vector<unsigned> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(cpus[i * cpus.size() / most]);
  return some;
}

Result<void> measure_between_cpus(const TestInput& input, const std::vector<unsigned>& own,
                                  TestResult& result) {
  const auto cpus = sample_of(own, input.level == Level::quick ? 16 : 24);
  if (cpus.size() < 2) return {};
  Series series{.what = "latency between CPUs",
                .quantity = "core_to_core_latency",
                .unit = "ns",
                .less_is_better = true,
                .tolerance = 0.5};
  std::vector<std::string> names;
  for (const unsigned cpu : cpus) names.push_back(fmt::format("cpu{}", cpu));
  auto matrix = empty_matrix(
      fmt::format("latency in ns between {} of {} CPUs", cpus.size(), own.size()), "ns", names);
  matrix.more_is_better = false;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    for (std::size_t j = i + 1; j < cpus.size(); ++j) {
      TRY_ASSIGN(const auto latency, latency_between(cpus[i], cpus[j]));
      matrix.cells[i][j] = matrix.cells[j][i] = latency;
    }
  }
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    std::vector<double> others;
    for (const auto& latency : matrix.cells[i]) {
      if (latency) others.push_back(*latency);
    }
    series.values.push_back({.device = matrix.names[i], .value = median_of(others)});
  }
  result.series.push_back(std::move(series));
  result.add(std::move(matrix));
  return {};
}

}  // namespace

Result<TestResult> run_host_latency(const TestInput& input) {
  constexpr std::uint64_t kMin = 64UL << 20U;
  const Root root;
  TRY_ASSIGN(const auto own, own_cpus());
  TRY_ASSIGN(const auto nodes, numa_cpus(root, own));
  const auto wanted = std::max(kMin, 2 * cache_bytes(root, own) / nodes.size());
  const auto available = memory_available(root);
  const auto bytes =
      input.bytes != 0 ? input.bytes : std::min(wanted, std::max(kMin, available / 8));
  TestResult result;
  TRY(MemoryLatency(input, nodes, bytes).measure(result));
  TRY(measure_between_cpus(input, own, result));
  return result;
}

}  // namespace muster::bench::node
