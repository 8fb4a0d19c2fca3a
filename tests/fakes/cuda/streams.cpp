// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/cuda/streams.hpp"

#include <cmath>
#include <utility>

namespace muster::fakes::gpu {

bool advance(StreamState& stream) {
  if (stream.stopped) return stream.waiting.empty();
  for (;;) {
    if (!stream.running) {
      if (stream.waiting.empty()) return true;
      stream.running = stream.waiting.front()();
      stream.waiting.pop_front();
    }
    if (!stream.running(stream.now)) return false;
    stream.running = nullptr;
  }
}

float milliseconds(Time elapsed) {
  const auto exact = static_cast<long double>(elapsed) / 1e12L;
  auto rounded = static_cast<float>(exact);
  if (static_cast<long double>(rounded) > exact) rounded = std::nextafterf(rounded, 0.0F);
  return rounded;
}

}  // namespace muster::fakes::gpu
