// SPDX-License-Identifier: Apache-2.0
// The common parts of the fake CUDA driver's functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/cuda/kernels.hpp"
#include "tests/fakes/cuda/memory.hpp"
#include "tests/fakes/cuda/streams.hpp"

namespace muster::fakes::gpu {

// Owns the objects of handles. A handle is an object's address; other values are invalid.
template <class Handle, class State>
class Table {
 public:
  Handle add(std::unique_ptr<State> state) {
    auto* handle = reinterpret_cast<Handle>(state.get());
    states_[handle] = std::move(state);
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

struct Device {
  int retained = 0;
  std::set<int> peers;         // whose memory it may read
  double busy_seconds = 0;     // with products
  std::uint64_t products = 0;  // launches
};

struct Driver {
  bool started = false;
  std::vector<int> visible;  // the GPUs of the node that this process sees
  std::map<int, Device> devices;
  Table<bench::cuda::Stream, StreamState> streams;
  Table<bench::cuda::Event, EventState> events;
  Table<bench::cuda::Module, std::string> modules;
  Table<bench::cuda::Kernel, KernelKind> kernels;
  Table<bench::cuda::Graph, GraphWork> graphs;
  Table<bench::cuda::GraphRun, GraphWork> runs;
};

[[nodiscard]] Driver& driver();
[[nodiscard]] bench::cuda::Context context_of(int gpu);
void set_context(bench::cuda::Context context);  // of the calling thread
// The error of a function that needs an initialised driver and a context.
[[nodiscard]] int usable(const char* function);
[[nodiscard]] std::vector<int> visible_gpus();
[[nodiscard]] bool is_device(int device);
// Pinned memory.
[[nodiscard]] bool is_pinned(const void* memory, std::uint64_t bytes);
// The time of a copy between a GPU and the host; empty if the host's memory is not pinned.
[[nodiscard]] Time copy_time(int gpu, const void* host, std::uint64_t bytes);
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

#define FAKE_CUDA extern "C" MUSTER_FAKE_API
// Every function holds the lock and checks first whether it may run.
#define FAKE_BEGIN(function)                                      \
  const std::scoped_lock fake_lock(::muster::fakes::gpu::lock()); \
  if (const int wanted = ::muster::fakes::gpu::answer(function); wanted != 0) return wanted;
#define FAKE_BEGIN_IN_CONTEXT(function)                           \
  const std::scoped_lock fake_lock(::muster::fakes::gpu::lock()); \
  if (const int wanted = ::muster::fakes::gpu::usable(function); wanted != 0) return wanted;
