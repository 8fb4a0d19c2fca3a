// SPDX-License-Identifier: Apache-2.0
// The timed loops on a GPU's stream, between events that the GPU itself records.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/backends/nccl/gpu.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Waits for an operation that was put on the stream after its event 0, and counts it. `expected`:
// as of Gpu::wait.
[[nodiscard]] Result<void> wait_counted(
    Gpu& gpu, const Gpu::Watch& healthy, Progress& progress,
    std::chrono::nanoseconds expected = std::chrono::nanoseconds(0));

struct StreamWork {
  Gpu& gpu;
  std::function<Result<void>()> enqueue;  // puts one operation on the stream
  std::function<Result<void>()> healthy;  // asked while it works; an error ends the waiting
};

// The seconds of each iteration, back to back where the pace says so. `progress` counts those done.
[[nodiscard]] Result<Samples> time_on_stream(const StreamWork& work, const Pace& pace,
                                             Progress& progress);

}  // namespace muster::bench
