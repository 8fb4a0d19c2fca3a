// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/cuda/streams.hpp"

#include <cmath>
#include <utility>

namespace muster::fakes::gpu {

bool advance(StreamState& stream) {
  if (stream.stopped) return stream.waiting.empty();
  // Two streams may wait for each other's events in turn.
  if (std::exchange(stream.advancing, true)) return false;
  bool done = true;
  for (;;) {
    if (!stream.running) {
      if (stream.waiting.empty()) break;
      stream.running = stream.waiting.front()();
      stream.waiting.pop_front();
    }
    done = stream.running(stream.now);
    if (!done) break;
    stream.running = nullptr;
  }
  stream.advancing = false;
  return done;
}

float milliseconds(Time elapsed) {
  const auto exact = static_cast<long double>(elapsed) / 1e12L;
  auto rounded = static_cast<float>(exact);
  if (static_cast<long double>(rounded) > exact) rounded = std::nextafterf(rounded, 0.0F);
  return rounded;
}

}  // namespace muster::fakes::gpu
