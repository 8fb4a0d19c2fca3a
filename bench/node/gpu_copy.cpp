// SPDX-License-Identifier: Apache-2.0
// gpu.copy: copies between each GPU and pinned memory of the host near it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench/backends/nccl/errors.hpp"
#include "bench/node/gpus.hpp"
#include "bench/node/tests.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::node {
namespace {

constexpr int kLeast = 3;
constexpr int kMost = 200;
constexpr int kBurst = 8;  // copies in a row where all GPUs copy at once

// One GPU with what it copies between.
struct Lane {
  NodeGpu* gpu = nullptr;
  std::unique_ptr<PinnedMemory> out, in;
  cuda::Pointer first = 0, second = 0;
  std::vector<double> to_device, to_host, both, all_to_device, all_to_host;

  [[nodiscard]] std::uint64_t bytes() const { return out->bytes(); }
};

Result<void> copy_in(const Lane& lane, cuda::Stream stream) {
  MUSTER_CUDA_TRY(lane.gpu->library(), copy_in, lane.first, lane.out->words(), lane.bytes(),
                  stream);
  return {};
}

Result<void> copy_out(const Lane& lane, cuda::Pointer from, cuda::Stream stream) {
  MUSTER_CUDA_TRY(lane.gpu->library(), copy_out, lane.in->words(), from, lane.bytes(), stream);
  return {};
}

Result<Lane> prepare(NodeGpu& gpu, std::uint64_t bytes, std::uint64_t seed) {
  Lane lane{.gpu = &gpu};
  for (auto* host : {&lane.out, &lane.in}) {
    if (auto made = put(*host, gpu.pin(bytes)); !made) return tl::unexpected(made.error());
  }
  if (auto done = gpu.allocate({&lane.first, &lane.second}, bytes); !done) {
    return tl::unexpected(done.error());
  }
  const auto words = bytes / sizeof(std::uint64_t);
  for (std::uint64_t i = 0; i < words; ++i) {
    lane.out->words()[i] = (seed + i) * 0x9e3779b97f4a7c15U;
  }
  std::memset(lane.in->words(), 0xff, bytes);
  return lane;
}

// There and back, and every byte compared; null where it came back as it was.
Result<std::optional<std::uint64_t>> first_difference(const Lane& lane) {
  auto done = lane.gpu->gpu().use();
  if (done) done = copy_in(lane, lane.gpu->gpu().stream());
  if (done) done = lane.gpu->wait();
  if (done) done = copy_out(lane, lane.first, lane.gpu->gpu().stream());
  if (done) done = lane.gpu->wait();
  if (!done) return tl::unexpected(done.error());
  const auto words = lane.bytes() / sizeof(std::uint64_t);
  const std::uint64_t* const begin = lane.out->words();
  const std::uint64_t* const end = begin + words;
  const auto [sent, came] =
      std::mismatch(begin, end, static_cast<const std::uint64_t*>(lane.in->words()));
  if (sent == end) return std::optional<std::uint64_t>();
  return std::optional(static_cast<std::uint64_t>(sent - begin) * sizeof(*sent));
}

// In and out at once, on a stream each: the sum of both rates.
Result<double> both_ways(const Lane& lane) {
  auto& in = lane.gpu->gpu();
  auto& out = lane.gpu->second();
  auto done = in.use();
  if (done) done = in.mark(0);
  if (done) done = out.mark(0);
  if (done) done = copy_in(lane, in.stream());
  if (done) done = copy_out(lane, lane.second, out.stream());
  if (done) done = in.mark(1);
  if (done) done = out.mark(1);
  for (auto* each : {&in, &out}) {
    if (done) done = each->wait([]() -> Result<void> { return {}; });
  }
  if (!done) return tl::unexpected(done.error());
  const auto first = in.seconds_between(0, 1);
  const auto second = out.seconds_between(0, 1);
  if (!first) return first;
  if (!second) return second;
  return 2 * static_cast<double>(lane.bytes()) / std::max(*first, *second) / kGiga;
}

Result<void> measure_alone(Lane& lane, std::chrono::duration<double> time) {
  const auto bytes = static_cast<double>(lane.bytes());
  const auto end = Clock::now() + time;
  for (int i = 0; i < kMost && (i < kLeast || Clock::now() < end); ++i) {
    TRY_ASSIGN(const auto in,
               lane.gpu->timed([&] { return copy_in(lane, lane.gpu->gpu().stream()); }));
    const auto out =
        lane.gpu->timed([&] { return copy_out(lane, lane.first, lane.gpu->gpu().stream()); });
    if (!out) return tl::unexpected(out.error());
    TRY_ASSIGN(const auto both, both_ways(lane));
    lane.to_device.push_back(bytes / in / kGiga);
    lane.to_host.push_back(bytes / *out / kGiga);
    lane.both.push_back(both);
  }
  return {};
}

// Every GPU has a burst of copies under way at the same time; each tells its own rate.
Result<void> measure_together(std::vector<Lane>& lanes, bool to_device) {
  for (auto& lane : lanes) {
    const auto stream = lane.gpu->gpu().stream();
    auto begun = lane.gpu->begin_timed([&] {
      Result<void> done;
      for (int i = 0; done && i < kBurst; ++i) {
        done = to_device ? copy_in(lane, stream) : copy_out(lane, lane.first, stream);
      }
      return done;
    });
    if (!begun) return begun;
  }
  for (auto& lane : lanes) {
    TRY_ASSIGN(const auto seconds, lane.gpu->end_timed());
    const double rate = kBurst * static_cast<double>(lane.bytes()) / seconds / kGiga;
    (to_device ? lane.all_to_device : lane.all_to_host).push_back(rate);
  }
  return {};
}

struct Way {
  std::string_view what, quantity;
  std::vector<double> Lane::*rates;
  bool limited;
  double tolerance;
};

// Where all copy at once, those that share a part of the way are slower than the others.
constexpr std::array kWays{
    Way{"host to device", "host_to_device", &Lane::to_device, true, 0.03},
    Way{"device to host", "device_to_host", &Lane::to_host, true, 0.03},
    Way{"both ways at once", "host_device_both", &Lane::both, false, 0.05},
    Way{"host to device, all GPUs", "host_to_device_all", &Lane::all_to_device, false, 0.2},
    Way{"device to host, all GPUs", "device_to_host_all", &Lane::all_to_host, false, 0.2}};

void add_series(const std::vector<Lane>& lanes, TestResult& result) {
  for (const auto& way : kWays) {
    Series series{.what = std::string(way.what),
                  .quantity = std::string(way.quantity),
                  .unit = "GB/s",
                  .limited = way.limited,
                  .tolerance = way.tolerance};
    for (const auto& lane : lanes) {
      const auto& rates = lane.*way.rates;
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
  std::vector<Lane> lanes;
  const auto share = input.time / (2.0 * static_cast<double>(all.gpus.size() + 1));
  for (std::size_t i = 0; i < all.gpus.size(); ++i) {
    auto& gpu = *all.gpus[i];
    auto lane = prepare(gpu, bytes / 4096 * 4096, i << 40U);
    const auto differs = lane ? first_difference(*lane)
                              : Result<std::optional<std::uint64_t>>(tl::unexpected(lane.error()));
    auto measured =
        differs ? measure_alone(*lane, share) : Result<void>(tl::unexpected(differs.error()));
    if (!measured) {
      result.findings.push_back(unjudged(gpu.name(), measured.error().message));
      continue;
    }
    if (*differs) {
      result.findings.push_back(
          broken(gpu.name(),
                 fmt::format("a copy to the GPU and back differs from byte {} on", **differs)));
    }
    lanes.push_back(*std::move(lane));
  }
  for (int i = 0; i < kLeast && lanes.size() > 1; ++i) {
    auto done = measure_together(lanes, true);
    if (done) done = measure_together(lanes, false);
    if (!done) return tl::unexpected(done.error());
  }
  add_series(lanes, result);
  return result;
}

}  // namespace muster::bench::node
