// SPDX-License-Identifier: Apache-2.0
// The internals of the fake CUDA driver, which the fake NCCL uses. Work on a stream runs when the
// stream is queried, on a virtual clock.
//
// Memory is reserved but hardly used: only the first kReal bytes of each write are real. Fills and
// collectives write those, and verifying reads only those, so that many ranks with gigabytes each
// run on a small machine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "bench/backends/nccl/abi.hpp"
#include "tests/fakes/cuda/scenario.hpp"

// CUDA and NCCL declare these; a fake needs no headers.
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#define MUSTER_FAKE_API __attribute__((visibility("default")))

namespace muster::fakes::gpu {

inline constexpr std::uint64_t kReal = 64UL << 10;

// In femtoseconds, so that sums and differences are exact.
using Time = std::uint64_t;

[[nodiscard]] inline Time time_of(double seconds) { return static_cast<Time>(seconds * 1e15); }

// Called again until it returns true; it may advance the stream's clock.
using Step = std::function<bool(Time& now)>;
// An item of a stream or a graph: makes the step of one run.
using Work = std::function<Step()>;

// Held by every function of both libraries.
MUSTER_FAKE_API std::recursive_mutex& lock();
MUSTER_FAKE_API const Scenario& scenario();
// The scenario's error of a function; 0 if there is none.
MUSTER_FAKE_API int answer(const char* function);

// The ordinal of the calling thread's GPU in its node; negative without a context.
MUSTER_FAKE_API int current_gpu();
// How long work takes that takes `seconds` on a GPU which is not throttled; counts it.
MUSTER_FAKE_API double work_for(int gpu, double seconds);
MUSTER_FAKE_API int put(bench::cuda::Stream stream, Work work);
// The GPU hangs: nothing on the stream runs from then on.
MUSTER_FAKE_API void stop(bench::cuda::Stream stream);

// CUDA's addresses are numbers.
[[nodiscard]] inline void* pointer_to(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): that is the point
}

// Bytes from there to the end of the allocation; 0 if it is not memory of the current GPU.
MUSTER_FAKE_API std::uint64_t reach(const void* memory);
// The number of real bytes from there on, at most `bytes`.
MUSTER_FAKE_API std::uint64_t real_bytes(const void* memory, std::uint64_t bytes);
// `bytes` were written, of which the first `real` are real.
MUSTER_FAKE_API void written(const void* memory, std::uint64_t bytes, std::uint64_t real);
// One more element is real.
MUSTER_FAKE_API void touched(const void* memory, std::uint64_t bytes);

struct Range {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

// The real parts of `bytes` from there on, as offsets.
MUSTER_FAKE_API std::vector<Range> real_ranges(const void* memory, std::uint64_t bytes);

// Owns the objects of handles. A handle is an object's address; other values are invalid.
template <class Handle, class State>
class Table {
 public:
  Handle add(State state) {
    auto made = std::make_unique<State>(std::move(state));
    auto* handle = reinterpret_cast<Handle>(made.get());
    states_[handle] = std::move(made);
    // cppcheck-suppress returnDanglingLifetime ; the table keeps it
    return handle;
  }

  State* find(Handle handle) {
    const auto found = states_.find(handle);
    return found == states_.end() ? nullptr : found->second.get();
  }

  bool drop(Handle handle) { return states_.erase(handle) == 1; }

 private:
  std::map<Handle, std::unique_ptr<State>> states_;
};

}  // namespace muster::fakes::gpu

#define FAKE_CALL extern "C" MUSTER_FAKE_API
// Every function holds the lock and checks first whether it may run.
#define FAKE_BEGIN(function)                                      \
  const std::scoped_lock fake_lock(::muster::fakes::gpu::lock()); \
  if (const int wanted = ::muster::fakes::gpu::answer(function); wanted != 0) return wanted;
