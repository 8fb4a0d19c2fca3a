// SPDX-License-Identifier: Apache-2.0
// The inside of the fake CUDA driver, which the fake NCCL knows. Work on a stream is run when the
// stream is asked, and the stream's clock is virtual: what takes no modelled time takes none.
//
// Memory is reserved and hardly used: after a fill, a collective or a memset, only the first
// kReal bytes of what was written hold anything. A fill and a collective write those, and verifying
// looks at those alone, so that many ranks with many gigabytes each run on a small machine.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "bench/backends/nccl/abi.hpp"
#include "tests/fakes/cuda/scenario.hpp"

// CUDA and NCCL declare these; a fake needs no header of theirs.
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#define MUSTER_FAKE_API __attribute__((visibility("default")))

namespace muster::fakes::gpu {

inline constexpr std::uint64_t kReal = 64UL << 10;

// In femtoseconds, so that sums and differences are exact.
using Time = std::uint64_t;

[[nodiscard]] inline Time time_of(double seconds) { return static_cast<Time>(seconds * 1e15); }

// Tried again until it says that it is done; it may move the stream's clock.
using Step = std::function<bool(Time& now)>;
// What lies on a stream or in a graph: makes the step of one run.
using Work = std::function<Step()>;

// Taken by every function of either library.
MUSTER_FAKE_API std::recursive_mutex& lock();
MUSTER_FAKE_API const Scenario& scenario();
// What the scenario has a function answer; 0 where it says nothing.
MUSTER_FAKE_API int answer(const char* function);

// The ordinal of the calling thread's GPU, among all of the node; negative without a context.
MUSTER_FAKE_API int current_gpu();
MUSTER_FAKE_API int put(bench::cuda::Stream stream, Work work);
// The GPU hangs: nothing that lies on the stream is run any more.
MUSTER_FAKE_API void stop(bench::cuda::Stream stream);

// Bytes from there to the end of the allocation; 0 where it is no memory of the current GPU.
MUSTER_FAKE_API std::uint64_t reach(const void* memory);
// How many of the bytes from there on hold something, at most `bytes`.
MUSTER_FAKE_API std::uint64_t real_bytes(const void* memory, std::uint64_t bytes);
// `bytes` were written, of which the first `real` hold something.
MUSTER_FAKE_API void written(const void* memory, std::uint64_t bytes, std::uint64_t real);
// One element more holds something.
MUSTER_FAKE_API void touched(const void* memory, std::uint64_t bytes);

struct Range {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

// The parts of `bytes` from there on that hold something, as offsets.
MUSTER_FAKE_API std::vector<Range> real_ranges(const void* memory, std::uint64_t bytes);

}  // namespace muster::fakes::gpu
