// SPDX-License-Identifier: Apache-2.0
// Streams, events and graphs of the fake CUDA driver.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "tests/fakes/cuda/state.hpp"

namespace muster::fakes::gpu {

struct GraphWork {
  std::vector<Work> work;
};

struct StreamState {
  int gpu = 0;
  Time now = 0;
  std::deque<Work> waiting;
  Step running;
  bool stopped = false;
  bool advancing = false;               // by a wait for it
  std::unique_ptr<GraphWork> captured;  // while work is not run but kept
  bool capture_broken = false;
};

struct EventState {
  int gpu = 0;
  bench::cuda::Stream on = nullptr;  // recorded there the last time
  bool recorded = false;
  bool pending = false;
  Time at = 0;
};

// Runs all that can run. Returns whether nothing is left.
[[nodiscard]] bool advance(StreamState& stream);

// `elapsed` in the driver's milliseconds, rounded down.
[[nodiscard]] float milliseconds(Time elapsed);

}  // namespace muster::fakes::gpu
