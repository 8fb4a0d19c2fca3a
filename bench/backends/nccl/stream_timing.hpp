// SPDX-License-Identifier: Apache-2.0
// Timed loops on a GPU's stream, measured by the GPU's own events.
#pragma once

#include <chrono>
#include <functional>

#include "bench/backends/backend.hpp"
#include "bench/backends/nccl/gpu.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Waits for an operation that was enqueued after event 0, and counts it. See Gpu::wait() for
// `expected`.
[[nodiscard]] Result<void> wait_counted(
    Gpu& gpu, const Gpu::Watch& healthy, Progress& progress,
    std::chrono::nanoseconds expected = std::chrono::nanoseconds(0));

struct StreamWork {
  Gpu& gpu;
  std::function<Result<void>()> enqueue;  // one operation
  std::function<Result<void>()> healthy;  // called while waiting; an error ends the wait
};

// The seconds of each iteration.
[[nodiscard]] Result<Samples> time_on_stream(const StreamWork& work, const Pace& pace,
                                             Progress& progress);

}  // namespace muster::bench
