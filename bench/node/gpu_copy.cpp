// SPDX-License-Identifier: Apache-2.0
// gpu.copy: copies between each GPU and pinned host memory near it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench/backends/nccl/library.hpp"
#include "bench/node/gpus.hpp"
#include "bench/node/test.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::node {
namespace {

constexpr int kFewestRounds = 3;
constexpr int kMostRounds = 200;

// One GPU with the memory that it copies between.
struct CopyLane {
  NodeGpu* gpu = nullptr;
  std::unique_ptr<PinnedMemory> out, in;
  cuda::Pointer first = 0, second = 0;
  std::vector<double> to_device, to_host, both, all_to_device, all_to_host;

  [[nodiscard]] std::uint64_t bytes() const { return out->bytes(); }

  [[nodiscard]] Result<void> copy_in(cuda::Stream stream) const {
    TRY(call(gpu->library(), gpu->library().copy_in, first, out->words(), bytes(), stream));
    return {};
  }

  [[nodiscard]] Result<void> copy_out(cuda::Pointer from, cuda::Stream stream) const {
    TRY(call(gpu->library(), gpu->library().copy_out, in->words(), from, bytes(), stream));
    return {};
  }
};

Result<CopyLane> prepare(NodeGpu& gpu, std::uint64_t bytes, std::uint64_t seed) {
  CopyLane lane{.gpu = &gpu};
  TRY_ASSIGN(lane.out, gpu.pin(bytes));
  TRY_ASSIGN(lane.in, gpu.pin(bytes));
  TRY(gpu.allocate({&lane.first, &lane.second}, bytes));
  for (std::uint64_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) {
    lane.out->words()[i] = (seed + i) * 0x9e3779b97f4a7c15U;
  }
  std::memset(lane.in->words(), 0xff, bytes);
  return lane;
}

// Copies to the GPU and back, and compares every byte. Returns the offset of the first difference.
Result<std::optional<std::uint64_t>> first_difference(const CopyLane& lane) {
  const auto stream = lane.gpu->gpu().stream();
  TRY(lane.gpu->gpu().use());
  TRY(lane.copy_in(stream));
  TRY(lane.gpu->wait());
  TRY(lane.copy_out(lane.first, stream));
  TRY(lane.gpu->wait());
  const std::span sent(lane.out->words(), lane.bytes() / sizeof(std::uint64_t));
  const auto different = std::ranges::mismatch(sent, std::span(lane.in->words(), sent.size())).in1;
  if (different == sent.end()) return std::nullopt;
  return static_cast<std::uint64_t>(different - sent.begin()) * sizeof(std::uint64_t);
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
  for (int i = 0; i < kMostRounds && (i < kFewestRounds || Clock::now() < end); ++i) {
    TRY_ASSIGN(const auto in, lane.gpu->timed([&] { return lane.copy_in(stream); }));
    TRY_ASSIGN(const auto out, lane.gpu->timed([&] { return lane.copy_out(lane.first, stream); }));
    TRY_ASSIGN(const auto both, both_ways(lane));
    lane.to_device.push_back(bytes / in / kGiga);
    lane.to_host.push_back(bytes / out / kGiga);
    lane.both.push_back(both);
  }
  return {};
}

// All GPUs run a burst of copies at the same time, and each is timed by its own clock.
Result<void> measure_together(std::vector<CopyLane>& lanes, bool to_device) {
  constexpr int kBurst = 8;
  for (auto& lane : lanes) {
    TRY(lane.gpu->begin_timed([&]() -> Result<void> {
      const auto stream = lane.gpu->gpu().stream();
      for (int i = 0; i < kBurst; ++i) {
        TRY(to_device ? lane.copy_in(stream) : lane.copy_out(lane.first, stream));
      }
      return {};
    }));
  }
  for (auto& lane : lanes) {
    TRY_ASSIGN(const auto seconds, lane.gpu->end_timed());
    const double rate = kBurst * static_cast<double>(lane.bytes()) / seconds / kGiga;
    (to_device ? lane.all_to_device : lane.all_to_host).push_back(rate);
  }
  return {};
}

struct CopyKind {
  std::string_view what, quantity;
  std::vector<double> CopyLane::*rates;
  bool limited;
  double tolerance;
};

// When all copy at once, GPUs that share part of the path are slower than the others.
constexpr std::array kCopyKinds{
    CopyKind{"host to device", "host_to_device", &CopyLane::to_device, true, 0.03},
    CopyKind{"device to host", "device_to_host", &CopyLane::to_host, true, 0.03},
    CopyKind{"both ways at once", "host_device_both", &CopyLane::both, false, 0.05},
    CopyKind{"host to device, all GPUs", "host_to_device_all", &CopyLane::all_to_device, false,
             0.2},
    CopyKind{"device to host, all GPUs", "device_to_host_all", &CopyLane::all_to_host, false, 0.2}};

void add_series(const std::vector<CopyLane>& lanes, TestResult& result) {
  for (const auto& kind : kCopyKinds) {
    Series series{.what = std::string(kind.what),
                  .quantity = std::string(kind.quantity),
                  .unit = "GB/s",
                  .limited = kind.limited,
                  .tolerance = kind.tolerance};
    for (const auto& lane : lanes) {
      const auto& rates = lane.*kind.rates;
      if (rates.empty()) continue;
      series.size_bytes = static_cast<std::int64_t>(lane.bytes());
      series.add(lane.gpu->name(), rates);
    }
    result.add(std::move(series));
  }
}

}  // namespace

Result<TestResult> run_gpu_copy(const TestInput& input) {
  const std::uint64_t bytes =
      input.bytes != 0 ? input.bytes : (input.level == Level::quick ? 64UL : 256UL) << 20U;
  TRY_ASSIGN(auto all, open_gpus(input));
  TestResult result{.findings = std::move(all.refused)};
  std::vector<CopyLane> lanes;
  const auto share = input.time / (2.0 * static_cast<double>(all.gpus.size() + 1));
  all.on_each(result, [&](NodeGpu& gpu) -> Result<void> {
    TRY_ASSIGN(auto lane, prepare(gpu, bytes / 4096 * 4096, lanes.size() << 40U));
    TRY_ASSIGN(const auto different, first_difference(lane));
    TRY(measure_alone(lane, share));
    if (different) {
      result.findings.push_back(
          broken(gpu.name(),
                 fmt::format("a copy to the GPU and back differs from byte {} on", *different)));
    }
    lanes.push_back(std::move(lane));
    return {};
  });
  for (int i = 0; i < kFewestRounds && lanes.size() > 1; ++i) {
    TRY(measure_together(lanes, true));
    TRY(measure_together(lanes, false));
  }
  add_series(lanes, result);
  return result;
}

}  // namespace muster::bench::node
