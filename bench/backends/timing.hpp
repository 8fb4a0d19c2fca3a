// SPDX-License-Identifier: Apache-2.0
// The timed loop of back ends that return from an operation when it is done. `run` and `barrier`
// return false when they could not.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/backends/backend.hpp"

namespace muster::bench {

template <class Run>
[[nodiscard]] bool counted(Run run, Progress& progress) {
  progress.started.fetch_add(1, std::memory_order_relaxed);
  if (!run()) return false;
  progress.finished.fetch_add(1, std::memory_order_relaxed);
  return true;
}

template <class Run>
[[nodiscard]] bool time_in_a_row(Run run, std::vector<double>& seconds, Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!counted(run, progress)) return false;
  }
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  std::ranges::fill(seconds, all.count() / static_cast<double>(seconds.size()));
  return true;
}

template <class Run, class Barrier>
[[nodiscard]] bool time_one_by_one(Run run,
                                   Barrier barrier,
                                   std::vector<double>& seconds,
                                   Progress& progress) {
  for (auto& one : seconds) {
    progress.started.fetch_add(1, std::memory_order_relaxed);
    const auto start = std::chrono::steady_clock::now();
    const bool done = run();
    const auto end = std::chrono::steady_clock::now();
    one = std::chrono::duration<double>(end - start).count();
    if (!done) return false;
    progress.finished.fetch_add(1, std::memory_order_relaxed);
    if (!barrier()) return false;
  }
  return true;
}

// `seconds` has the size of the iterations wanted.
template <class Run, class Barrier>
[[nodiscard]] bool time_operations(
    const Pace& pace, Run run, Barrier barrier, std::vector<double>& seconds, Progress& progress) {
  progress.reset();
  if (!barrier()) return false;
  for (int i = 0; i < pace.warm_up; ++i) {
    if (!counted(run, progress) || (!pace.pipelined && !barrier())) return false;
  }
  if (!pace.pipelined) return time_one_by_one(run, barrier, seconds, progress);
  return barrier() && time_in_a_row(run, seconds, progress);
}

}  // namespace muster::bench
