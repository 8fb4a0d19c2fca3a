// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/stream_timing.hpp"

#include <chrono>
#include <cstddef>

namespace muster::bench {
namespace {

// Querying the stream after each operation would slow down short ones.
constexpr std::size_t kCountEvery = 64;

Result<Samples> one_by_one(const StreamWork& work, const Pace& pace, Progress& progress) {
  Samples samples;
  auto& seconds = samples.seconds;
  seconds.reserve(static_cast<std::size_t>(pace.iterations));
  CpuTimer cpu(pace.cpu_time);
  for (int i = 0; i < pace.iterations; ++i) {
    const double expected = seconds.empty() ? 0 : seconds.back();
    TRY(work.gpu.mark(0));
    cpu.start();
    TRY(work.enqueue());
    if (pace.cpu_time) samples.cpu_seconds.push_back(cpu.seconds());
    TRY(work.gpu.mark(1));
    const std::chrono::nanoseconds wait(static_cast<std::int64_t>(expected * 1e9));
    TRY(wait_counted(work.gpu, work.healthy, progress, wait));
    TRY_ASSIGN(const auto took, work.gpu.seconds_between(0, 1));
    seconds.push_back(took);
  }
  return samples;
}

// Enqueues all operations, and counts them as the stream reaches them.
Result<void> enqueue_all(const StreamWork& work, const Pace& pace, std::vector<double>& cpu_seconds,
                         Progress& progress) {
  const auto rounds = static_cast<std::size_t>(pace.iterations);
  std::size_t counted = 0;
  const auto count = [&](std::size_t put) {
    for (; counted < put && work.gpu.has_reached(counted + 1); ++counted) ++progress.finished;
    if (counted < put) progress.started = progress.finished + 1;
  };
  // The ranks synchronise in an operation that is not timed. Otherwise the first would include the
  // time by which one rank started before another.
  TRY(work.enqueue());
  TRY(work.gpu.mark(0));
  CpuTimer cpu(pace.cpu_time);
  for (std::size_t i = 0; i < rounds; ++i) {
    cpu.start();
    TRY(work.enqueue());
    if (pace.cpu_time) cpu_seconds.push_back(cpu.seconds());
    TRY(work.gpu.mark(i + 1));
    if (i % kCountEvery == 0) count(i + 1);
  }
  return work.gpu.wait([&] {
    count(rounds);
    return work.healthy();
  });
}

Result<Samples> back_to_back(const StreamWork& work, const Pace& pace, Progress& progress) {
  const auto rounds = static_cast<std::size_t>(pace.iterations);
  TRY(work.gpu.mark(rounds));  // creates all events
  for (std::size_t i = 0; i < rounds; ++i) TRY(work.gpu.mark(i));
  TRY(work.gpu.wait(work.healthy));
  Samples samples;
  TRY(enqueue_all(work, pace, samples.cpu_seconds, progress));
  auto& seconds = samples.seconds;
  seconds.reserve(rounds);
  for (std::size_t i = 0; i < rounds; ++i) {
    TRY_ASSIGN(const auto took, work.gpu.seconds_between(i, i + 1));
    seconds.push_back(took);
  }
  return samples;
}

}  // namespace

Result<void> wait_counted(Gpu& gpu, const Gpu::Watch& healthy, Progress& progress,
                          std::chrono::nanoseconds expected) {
  const auto begun = progress.started.load() + 1;
  const auto watch = [&] {
    if (gpu.has_reached(0)) progress.started = begun;
    return healthy();
  };
  TRY(gpu.wait(watch, expected));
  progress.started = begun;
  ++progress.finished;
  return {};
}

Result<Samples> time_on_stream(const StreamWork& work, const Pace& pace, Progress& progress) {
  return pace.pipelined ? back_to_back(work, pace, progress) : one_by_one(work, pace, progress);
}

}  // namespace muster::bench
