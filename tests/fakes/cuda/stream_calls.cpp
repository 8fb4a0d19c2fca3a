// SPDX-License-Identifier: Apache-2.0
// The fake CUDA driver's functions for streams, events and graphs.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "tests/fakes/cuda/driver.hpp"

using muster::bench::cuda::Event;
using muster::bench::cuda::Graph;
using muster::bench::cuda::GraphRun;
using muster::bench::cuda::Stream;

namespace muster::fakes::gpu {
namespace {

// Runs everything that can run. Returns whether nothing is left.
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

// In the driver's milliseconds, rounded down.
float milliseconds(Time elapsed) {
  const auto exact = static_cast<long double>(elapsed) / 1e12L;
  auto rounded = static_cast<float>(exact);
  if (static_cast<long double>(rounded) > exact) rounded = std::nextafterf(rounded, 0.0F);
  return rounded;
}

}  // namespace
}  // namespace muster::fakes::gpu

namespace fake = muster::fakes::gpu;
namespace cuda = muster::bench::cuda;

FAKE_CALL int cuStreamCreate(Stream* stream, unsigned flags) {
  FAKE_BEGIN_IN_CONTEXT("cuStreamCreate")
  if (stream == nullptr || flags > cuda::kStreamNonBlocking) return cuda::kInvalidValue;
  fake::StreamState state;
  state.gpu = fake::current_gpu();
  *stream = fake::driver().streams.add(std::move(state));
  return cuda::kSuccess;
}

FAKE_CALL int cuStreamDestroy_v2(Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuStreamDestroy_v2")
  if (fake::own_stream(stream) == nullptr) return cuda::kInvalidHandle;
  return fake::driver().streams.drop(stream) ? cuda::kSuccess : cuda::kInvalidHandle;
}

FAKE_CALL int cuStreamQuery(Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuStreamQuery")
  auto* state = fake::own_stream(stream);
  if (state == nullptr) return cuda::kInvalidHandle;
  if (state->captured != nullptr) {
    state->capture_broken = true;
    return cuda::kCaptureUnsupported;
  }
  return fake::advance(*state) ? cuda::kSuccess : cuda::kNotReady;
}

FAKE_CALL int cuEventCreate(Event* event, unsigned flags) {
  FAKE_BEGIN_IN_CONTEXT("cuEventCreate")
  if (event == nullptr || flags != 0) return cuda::kInvalidValue;
  *event = fake::driver().events.add({.gpu = fake::current_gpu()});
  return cuda::kSuccess;
}

FAKE_CALL int cuEventDestroy_v2(Event event) {
  FAKE_BEGIN_IN_CONTEXT("cuEventDestroy_v2")
  return fake::driver().events.drop(event) ? cuda::kSuccess : cuda::kInvalidHandle;
}

FAKE_CALL int cuEventRecord(Event event, Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuEventRecord")
  auto* state = fake::driver().events.find(event);
  const auto* on = fake::own_stream(stream);
  if (state == nullptr || on == nullptr || state->gpu != on->gpu) return cuda::kInvalidHandle;
  if (on->captured != nullptr) return cuda::kCaptureUnsupported;
  state->recorded = true;
  state->pending = true;
  state->on = stream;
  return fake::put(stream, fake::plain([event](fake::Time& now) {
                     auto* reached = fake::driver().events.find(event);
                     if (reached == nullptr) return;
                     reached->pending = false;
                     reached->at = now;
                   }));
}

// Waiting for an event that was never recorded has no effect.
FAKE_CALL int cuStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  FAKE_BEGIN_IN_CONTEXT("cuStreamWaitEvent")
  const auto* on = fake::own_stream(stream);
  const auto* state = fake::driver().events.find(event);
  if (on == nullptr || state == nullptr) return cuda::kInvalidHandle;
  if (flags != 0) return cuda::kInvalidValue;
  if (on->captured != nullptr) return cuda::kCaptureUnsupported;
  return fake::put(stream, [event]() -> fake::Step {
    return [event](fake::Time& now) {
      const auto* awaited = fake::driver().events.find(event);
      if (awaited == nullptr) return true;
      if (awaited->pending) {
        if (auto* other = fake::driver().streams.find(awaited->on); other != nullptr) {
          (void)fake::advance(*other);
        }
      }
      if (awaited->pending) return false;
      now = std::max(now, awaited->at);
      return true;
    };
  });
}

FAKE_CALL int cuEventQuery(Event event) {
  FAKE_BEGIN_IN_CONTEXT("cuEventQuery")
  const auto* state = fake::driver().events.find(event);
  if (state == nullptr) return cuda::kInvalidHandle;
  return state->pending ? cuda::kNotReady : cuda::kSuccess;
}

FAKE_CALL int cuEventElapsedTime(float* milliseconds, Event first, Event second) {
  FAKE_BEGIN_IN_CONTEXT("cuEventElapsedTime")
  const auto* from = fake::driver().events.find(first);
  const auto* to = fake::driver().events.find(second);
  if (milliseconds == nullptr) return cuda::kInvalidValue;
  if (from == nullptr || to == nullptr || !from->recorded || !to->recorded) {
    return cuda::kInvalidHandle;
  }
  if (from->pending || to->pending) return cuda::kNotReady;
  if (to->at < from->at) return cuda::kInvalidValue;
  *milliseconds = fake::milliseconds(to->at - from->at);
  return cuda::kSuccess;
}

#ifndef MUSTER_FAKE_WITHOUT_GRAPHS
FAKE_CALL int cuStreamBeginCapture_v2(Stream stream, int mode) {
  FAKE_BEGIN_IN_CONTEXT("cuStreamBeginCapture_v2")
  auto* state = fake::own_stream(stream);
  if (state == nullptr) return cuda::kInvalidHandle;
  if (mode < 0 || mode > 2 || state->captured != nullptr) return cuda::kInvalidValue;
  state->captured = std::make_unique<fake::GraphWork>();
  state->capture_broken = false;
  return cuda::kSuccess;
}

FAKE_CALL int cuStreamEndCapture(Stream stream, Graph* graph) {
  FAKE_BEGIN_IN_CONTEXT("cuStreamEndCapture")
  auto* state = fake::own_stream(stream);
  if (state == nullptr) return cuda::kInvalidHandle;
  if (graph == nullptr || state->captured == nullptr) return cuda::kInvalidValue;
  auto captured = std::move(state->captured);
  if (state->capture_broken) return cuda::kCaptureInvalidated;
  *graph = fake::driver().graphs.add(std::move(*captured));
  return cuda::kSuccess;
}

FAKE_CALL int cuGraphInstantiateWithFlags(GraphRun* run, Graph graph, unsigned long long flags) {
  FAKE_BEGIN_IN_CONTEXT("cuGraphInstantiateWithFlags")
  if (run == nullptr || flags != 0) return cuda::kInvalidValue;
  const auto* work = fake::driver().graphs.find(graph);
  if (work == nullptr) return cuda::kInvalidHandle;
  *run = fake::driver().runs.add(*work);
  return cuda::kSuccess;
}

FAKE_CALL int cuGraphLaunch(GraphRun run, Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuGraphLaunch")
  const auto* kept = fake::driver().runs.find(run);
  if (kept == nullptr) return cuda::kInvalidHandle;
  for (const auto& work : kept->work) {
    const int code = fake::put(stream, work);
    if (code != cuda::kSuccess) return code;
  }
  return cuda::kSuccess;
}

FAKE_CALL int cuGraphDestroy(Graph graph) {
  FAKE_BEGIN("cuGraphDestroy")
  return fake::driver().graphs.drop(graph) ? cuda::kSuccess : cuda::kInvalidHandle;
}

FAKE_CALL int cuGraphExecDestroy(GraphRun run) {
  FAKE_BEGIN("cuGraphExecDestroy")
  return fake::driver().runs.drop(run) ? cuda::kSuccess : cuda::kInvalidHandle;
}
#endif
