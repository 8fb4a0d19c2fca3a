// SPDX-License-Identifier: Apache-2.0
// The internals of the fake CUDA driver.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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

// Memory of the GPUs.
[[nodiscard]] std::uint64_t used_memory(int gpu);
// An address, or 0.
[[nodiscard]] std::uint64_t reserve(int gpu, std::uint64_t size);

// Bytes from there to the end of the allocation; 0 if it is not memory of that GPU.
[[nodiscard]] std::uint64_t reach_on(int gpu, const void* memory);

// Returns false if it was not the address of an allocation.
[[nodiscard]] bool give_back(std::uint64_t address);

// A kernel of bench/backends/nccl/kernels.cu or bench/node/kernels.cu, run by the host. `run` makes
// the work of a launch; empty if the arguments are outside the GPU's memory.
struct KernelCode {
  Work (*run)(unsigned width, unsigned blocks, void** arguments) = nullptr;
  unsigned width = 0;  // of an element, of those for collectives
};

// Empty for another name.
[[nodiscard]] std::optional<KernelCode> kernel_named(std::string_view name);

struct Device {
  int retained = 0;
  std::set<int> peers;                     // whose memory it may read
  double busy_seconds = 0;                 // with products
  std::uint64_t products = 0, triads = 0;  // launches
};

struct Driver {
  bool started = false;
  std::vector<int> visible;  // the GPUs of the node that this process sees
  std::map<int, Device> devices;
  Table<bench::cuda::Stream, StreamState> streams;
  Table<bench::cuda::Event, EventState> events;
  Table<bench::cuda::Module, std::string> modules;
  Table<bench::cuda::Kernel, KernelCode> kernels;
  Table<bench::cuda::Graph, GraphWork> graphs;
  Table<bench::cuda::GraphRun, GraphWork> runs;
};

[[nodiscard]] Driver& driver();
// RDMA writes into exposed memory that the GPU does not see yet, if the scenario has late ones.
void expose(const void* memory, std::uint64_t bytes);
void conceal(const void* memory);
// Where the GPU reads this memory.
[[nodiscard]] const void* visible(const void* memory, std::uint64_t bytes);
// After the GPU has written there, or, of all memory, after a flush.
void make_visible(const void* memory);
[[nodiscard]] bench::cuda::Context context_of(int gpu);
void set_context(bench::cuda::Context context);  // of the calling thread
// The error of a function that needs an initialised driver and a context.
[[nodiscard]] int usable(const char* function);
[[nodiscard]] std::vector<int> visible_gpus();
[[nodiscard]] bool is_device(int device);
// Null if it is not memory of the current GPU.
[[nodiscard]] StreamState* own_stream(bench::cuda::Stream stream);

// Work that takes no time.
template <class Run>
Work plain(Run run) {
  return [run]() -> Step {
    return [run](Time& now) {
      run(now);
      return true;
    };
  };
}

}  // namespace muster::fakes::gpu

#define FAKE_BEGIN_IN_CONTEXT(function)                           \
  const std::scoped_lock fake_lock(::muster::fakes::gpu::lock()); \
  if (const int wanted = ::muster::fakes::gpu::usable(function); wanted != 0) return wanted;
