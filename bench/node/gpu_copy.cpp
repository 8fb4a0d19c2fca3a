// SPDX-License-Identifier: Apache-2.0
// gpu.copy: copies between each GPU and pinned host memory near it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bench/node/gpus.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::node {
namespace {

constexpr int kFewestRounds = 3;
constexpr int kMaxRounds = 200;

// One GPU with the memory that it copies between.
struct CopyLane {
  NodeGpu* gpu = nullptr;
  std::span<std::uint64_t> out, in;       // pinned
  cuda::Pointer first = 0, second = 0;    // copies go out -> first -> in and second -> in
  std::vector<std::uint64_t> sent, held;  // what `out` and `second` hold, over and over
  std::optional<std::string> wrong;       // the first copy that differed
  std::vector<double> to_device, to_host, both, all_to_device, all_to_host;

  [[nodiscard]] std::uint64_t bytes() const { return out.size_bytes(); }

  [[nodiscard]] Result<void> copy_in(cuda::Stream stream) const {
    return call(gpu->library(), gpu->library().copy_in, first, out.data(), bytes(), stream);
  }

  [[nodiscard]] Result<void> copy_out(cuda::Pointer from, cuda::Stream stream) const {
    return call(gpu->library(), gpu->library().copy_out, in.data(), from, bytes(), stream);
  }

  // Poison what copies write to.
  [[nodiscard]] Result<void> clear_device() const { return gpu->poison(first, bytes()); }

  void clear_host() const { std::memset(in.data(), 0xff, bytes()); }

  // Compare what the last copies have written.
  [[nodiscard]] Result<void> verify_device() {
    TRY_ASSIGN(const auto found, gpu->verify(first, out.size(), sizeof(std::uint64_t), sent));
    if (found.elements != 0) note("to", found.first);
    return {};
  }

  void verify_host(const std::vector<std::uint64_t>& expected) {
    for (std::uint64_t at = 0; at < in.size(); at += expected.size()) {
      const auto seen = in.subspan(at, std::min(expected.size(), in.size() - at));
      if (std::memcmp(seen.data(), expected.data(), seen.size_bytes()) == 0) continue;
      const auto different = std::ranges::mismatch(seen, expected).in1;
      return note("from", at + static_cast<std::uint64_t>(different - seen.begin()));
    }
  }

 private:
  void note(std::string_view way, std::uint64_t word) {
    if (wrong) return;
    wrong =
        fmt::format("a copy {} the GPU differs from byte {} on", way, word * sizeof(std::uint64_t));
  }
};

void fill(std::span<std::uint64_t> memory, const std::vector<std::uint64_t>& period) {
  for (std::size_t at = 0; at < memory.size(); at += period.size()) {
    std::copy_n(period.data(), std::min(period.size(), memory.size() - at), memory.data() + at);
  }
}

Result<CopyLane> prepare(NodeGpu& gpu, std::uint64_t bytes, std::uint64_t seed) {
  CopyLane lane{.gpu = &gpu, .sent = varied_words(2 * seed), .held = varied_words(2 * seed + 1)};
  TRY_ASSIGN(lane.out, gpu.pin(bytes));
  TRY_ASSIGN(lane.in, gpu.pin(bytes));
  TRY(gpu.allocate({&lane.first, &lane.second}, bytes));
  fill(lane.out, lane.held);
  TRY(gpu.copy_to_gpu(lane.second, lane.out.data(), bytes));
  fill(lane.out, lane.sent);
  return lane;
}

// Copies in and out at once, on a stream each. Returns the sum of both rates in GB/s.
Result<double> both_ways(const CopyLane& lane) {
  auto& in = lane.gpu->gpu();
  auto& out = lane.gpu->second();
  TRY(in.use());
  TRY(in.mark(0));
  TRY(out.mark(0));
  TRY(lane.copy_in(in.stream()));
  TRY(lane.copy_out(lane.second, out.stream()));
  TRY(in.mark(1));
  TRY(out.mark(1));
  TRY(in.wait(no_watch));
  TRY(out.wait(no_watch));
  TRY_ASSIGN(const auto first, in.seconds_between(0, 1));
  TRY_ASSIGN(const auto second, out.seconds_between(0, 1));
  return 2 * static_cast<double>(lane.bytes()) / std::max(first, second) / kGiga;
}

Result<void> measure_alone(CopyLane& lane, std::chrono::duration<double> time) {
  const auto bytes = static_cast<double>(lane.bytes());
  const auto stream = lane.gpu->gpu().stream();
  const auto end = Clock::now() + time;
  for (int i = 0; i < kMaxRounds && (i < kFewestRounds || Clock::now() < end); ++i) {
    TRY_ASSIGN(const auto in, lane.gpu->timed([&] { return lane.copy_in(stream); }));
    TRY_ASSIGN(const auto out, lane.gpu->timed([&] { return lane.copy_out(lane.first, stream); }));
    TRY_ASSIGN(const auto both, both_ways(lane));
    lane.to_device.push_back(bytes / in / kGiga);
    lane.to_host.push_back(bytes / out / kGiga);
    lane.both.push_back(both);
  }
  return {};
}

// Verifies the last timed copies, and then each kind of copy on poisoned memory: the result of a
// timed one may be left from the one before.
Result<void> verify_alone(CopyLane& lane) {
  const auto stream = lane.gpu->gpu().stream();
  for (const bool again : {false, true}) {
    if (again) TRY(both_ways(lane));
    TRY(lane.verify_device());
    lane.verify_host(lane.held);
    TRY(lane.clear_device());
    lane.clear_host();
  }
  TRY(lane.gpu->timed([&] { return lane.copy_in(stream); }));
  TRY(lane.verify_device());
  TRY(lane.gpu->timed([&] { return lane.copy_out(lane.first, stream); }));
  lane.verify_host(lane.sent);
  return {};
}

// All GPUs run a burst of copies at the same time. Returns the rate of each by its own clock.
Result<std::vector<double>> burst(const std::vector<CopyLane>& lanes, bool to_device, int copies) {
  for (const auto& lane : lanes) {
    TRY(lane.gpu->begin_timed([&]() -> Result<void> {
      const auto stream = lane.gpu->gpu().stream();
      for (int i = 0; i < copies; ++i) {
        TRY(to_device ? lane.copy_in(stream) : lane.copy_out(lane.first, stream));
      }
      return {};
    }));
  }
  std::vector<double> rates;
  for (const auto& lane : lanes) {
    TRY_ASSIGN(const auto seconds, lane.gpu->end_timed());
    rates.push_back(copies * static_cast<double>(lane.bytes()) / seconds / kGiga);
  }
  return rates;
}

Result<void> verify_burst(std::vector<CopyLane>& lanes, bool to_device) {
  for (auto& lane : lanes) {
    if (to_device) TRY(lane.verify_device());
    if (!to_device) lane.verify_host(lane.sent);
  }
  return {};
}

// Verifies the last burst, and one more copy of all GPUs at once on poisoned memory.
Result<void> measure_together(std::vector<CopyLane>& lanes, bool to_device) {
  constexpr int kBurst = 8;
  for (int i = 0; i < kFewestRounds; ++i) {
    TRY_ASSIGN(const auto rates, burst(lanes, to_device, kBurst));
    for (std::size_t j = 0; j < lanes.size(); ++j) {
      (to_device ? lanes[j].all_to_device : lanes[j].all_to_host).push_back(rates[j]);
    }
  }
  TRY(verify_burst(lanes, to_device));
  for (const auto& lane : lanes) {
    if (to_device) TRY(lane.clear_device());
    if (!to_device) lane.clear_host();
  }
  TRY(burst(lanes, to_device, 1));
  return verify_burst(lanes, to_device);
}

void add_series(const std::vector<CopyLane>& lanes, TestResult& result) {
  // When all copy at once, GPUs that share part of the path are slower than the others.
  const std::initializer_list<std::pair<Series, std::vector<double> CopyLane::*>> kinds{
      {{.what = "host to device", .quantity = "host_to_device", .limited = true},
       &CopyLane::to_device},
      {{.what = "device to host", .quantity = "device_to_host", .limited = true},
       &CopyLane::to_host},
      {{.what = "both ways at once", .quantity = "host_device_both", .tolerance = 0.05},
       &CopyLane::both},
      {{.what = "host to device, all GPUs", .quantity = "host_to_device_all", .tolerance = 0.2},
       &CopyLane::all_to_device},
      {{.what = "device to host, all GPUs", .quantity = "device_to_host_all", .tolerance = 0.2},
       &CopyLane::all_to_host}};
  for (const auto& [kind, rates] : kinds) {
    auto series = kind;
    series.unit = "GB/s";
    for (const auto& lane : lanes) {
      if ((lane.*rates).empty()) continue;
      series.size_bytes = static_cast<std::int64_t>(lane.bytes());
      series.add(lane.gpu->name(), lane.*rates);
    }
    result.add(std::move(series));
  }
}

}  // namespace

Result<TestResult> run_gpu_copy(const TestInput& input) {
  TRY_ASSIGN(auto all, open_gpus(input));
  TestResult result{.findings = std::move(all.refused)};
  std::vector<CopyLane> lanes;
  const auto share = input.time / (2.0 * static_cast<double>(all.gpus.size() + 1));
  all.on_each(result, [&](NodeGpu& gpu) -> Result<void> {
    TRY_ASSIGN(auto lane, prepare(gpu, copied_bytes(input), lanes.size()));
    TRY(measure_alone(lane, share));
    TRY(verify_alone(lane));
    lanes.push_back(std::move(lane));
    return {};
  });
  for (const bool to_device : {true, false}) {
    if (lanes.size() < 2) break;
    if (const auto done = measure_together(lanes, to_device); !done) {
      result.findings.push_back(
          unjudged("node", fmt::format("all GPUs at once: {}", done.error().message)));
    }
  }
  for (const auto& lane : lanes) {
    if (lane.wrong) result.findings.push_back(broken(lane.gpu->name(), *lane.wrong));
  }
  add_series(lanes, result);
  input.require_size_for(result, kQuickCopy);
  return result;
}

}  // namespace muster::bench::node
