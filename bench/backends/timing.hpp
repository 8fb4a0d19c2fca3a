// SPDX-License-Identifier: Apache-2.0
// The timed loop of back ends that return from an operation when it is done. `run` and `barrier`
// return false when they could not.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/backends/cpu_time.hpp"

namespace muster::bench {

template <class Run>
[[nodiscard]] bool counted(Run run, Progress& progress) {
  progress.started.fetch_add(1, std::memory_order_relaxed);
  if (!run()) return false;
  progress.finished.fetch_add(1, std::memory_order_relaxed);
  return true;
}

template <class Run>
[[nodiscard]] bool time_in_a_row(Run run, Samples& samples, Progress& progress) {
  auto& seconds = samples.seconds;
  CpuTimer cpu(!samples.cpu_seconds.empty());
  cpu.start();
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!counted(run, progress)) return false;
  }
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  const auto count = static_cast<double>(seconds.size());
  std::ranges::fill(samples.cpu_seconds, cpu.seconds() / count);
  std::ranges::fill(seconds, all.count() / count);
  return true;
}

template <class Run, class Barrier>
[[nodiscard]] bool time_one_by_one(Run run, Barrier barrier, Samples& samples, Progress& progress) {
  CpuTimer cpu(!samples.cpu_seconds.empty());
  for (std::size_t i = 0; i < samples.seconds.size(); ++i) {
    progress.started.fetch_add(1, std::memory_order_relaxed);
    cpu.start();
    const auto start = std::chrono::steady_clock::now();
    const bool done = run();
    const auto end = std::chrono::steady_clock::now();
    samples.seconds[i] = std::chrono::duration<double>(end - start).count();
    if (!samples.cpu_seconds.empty()) samples.cpu_seconds[i] = cpu.seconds();
    if (!done) return false;
    progress.finished.fetch_add(1, std::memory_order_relaxed);
    if (!barrier()) return false;
  }
  return true;
}

// Fills in the times of `samples`, which has its rank alone.
template <class Run, class Barrier>
[[nodiscard]] bool time_operations(
    const Pace& pace, Run run, Barrier barrier, Samples& samples, Progress& progress) {
  const auto iterations = static_cast<std::size_t>(pace.iterations);
  samples.seconds.resize(iterations);
  samples.cpu_seconds.resize(pace.cpu_time ? iterations : 0);
  progress.reset();
  if (!barrier()) return false;
  for (int i = 0; i < pace.warm_up; ++i) {
    if (!counted(run, progress) || (!pace.pipelined && !barrier())) return false;
  }
  if (!pace.pipelined) return time_one_by_one(run, barrier, samples, progress);
  return barrier() && time_in_a_row(run, samples, progress);
}

}  // namespace muster::bench
