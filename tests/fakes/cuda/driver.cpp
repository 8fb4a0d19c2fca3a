// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA driver that muster-bench uses, on host memory and a virtual clock. They
// are stricter than NVIDIA's: what that may let pass is an error here.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "lib/base/text.hpp"
#include "tests/fakes/cuda/kernels.hpp"
#include "tests/fakes/cuda/memory.hpp"
#include "tests/fakes/cuda/streams.hpp"

using muster::bench::cuda::Context;
using muster::bench::cuda::Event;
using muster::bench::cuda::Graph;
using muster::bench::cuda::GraphRun;
using muster::bench::cuda::Kernel;
using muster::bench::cuda::Module;
using muster::bench::cuda::Pointer;
using muster::bench::cuda::Stream;

namespace muster::fakes::gpu {
namespace {

namespace cuda = bench::cuda;

// Owns what handles stand for; a handle is the address of what it stands for, and anything else is
// no handle.
template <class Handle, class State>
class Table {
 public:
  Handle add(std::unique_ptr<State> state) {
    auto* handle = reinterpret_cast<Handle>(state.get());
    states_[handle] = std::move(state);
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
};

struct Driver {
  bool started = false;
  std::vector<int> visible;  // the GPUs of the node that this process sees
  std::map<int, Device> devices;
  Table<Stream, StreamState> streams;
  Table<Event, EventState> events;
  Table<Module, std::string> modules;
  Table<Kernel, KernelKind> kernels;
  Table<Graph, GraphWork> graphs;
  Table<GraphRun, GraphWork> runs;
};

Driver& driver() {
  static Driver one;
  return one;
}

// A context is a thread's own.
thread_local Context t_context = nullptr;

Context context_of(int gpu) {
  return reinterpret_cast<Context>(pointer_to(static_cast<std::uintptr_t>(gpu) + 0x1000));
}

// Of a function that needs a start and a context.
int usable(const char* function) {
  const int wanted = answer(function);
  if (wanted != cuda::kSuccess) return wanted;
  if (!driver().started) return cuda::kNotInitialised;
  return current_gpu() < 0 ? cuda::kInvalidContext : cuda::kSuccess;
}

std::vector<int> visible_gpus() {
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(scenario().gpus));
  for (int gpu = 0; gpu < scenario().gpus; ++gpu) all.push_back(gpu);
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return all;
  std::vector<int> named;
  named.reserve(all.size());
  for (const auto word : split(text, ',')) {
    const auto gpu = parse_unsigned(word);
    if (!gpu || *gpu >= all.size()) break;  // as the driver: the list ends there
    named.push_back(static_cast<int>(*gpu));
  }
  return named;
}

int copy_text(const std::string& text, char* out, int length) {
  if (out == nullptr || length <= static_cast<int>(text.size())) return cuda::kInvalidValue;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return cuda::kSuccess;
}

bool is_device(int device) {
  const auto& visible = driver().visible;
  return std::ranges::find(visible, device) != visible.end();
}

StreamState* own_stream(Stream stream) {
  auto* found = driver().streams.find(stream);
  return found != nullptr && found->gpu == current_gpu() ? found : nullptr;
}

const void* address(Pointer pointer) { return pointer_to(pointer); }

// A plain piece of work, which takes no time.
template <class Run>
Work plain(Run run) {
  return [run]() -> Step {
    return [run](Time& now) {
      run(now);
      return true;
    };
  };
}

Scenario load_scenario() {
  const char* path = std::getenv("MUSTER_FAKE_GPU");
  if (path == nullptr) return {};
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto parsed = parse_scenario(text.str());
  if (parsed) return *parsed;
  fmt::print(stderr, "{}\n", parsed.error().message);
  std::abort();
}

}  // namespace

std::recursive_mutex& lock() {
  static std::recursive_mutex mutex;
  return mutex;
}

const Scenario& scenario() {
  static const Scenario one = load_scenario();
  return one;
}

int answer(const char* function) {
  const auto found = scenario().answers.find(function);
  return found == scenario().answers.end() ? 0 : found->second;
}

int current_gpu() {
  if (t_context == nullptr) return -1;
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(t_context) - 0x1000);
}

int put(Stream stream, Work work) {
  auto* state = own_stream(stream);
  if (state == nullptr) return cuda::kInvalidHandle;
  if (state->captured != nullptr) {
    state->captured->work.push_back(std::move(work));
  } else {
    state->waiting.push_back(std::move(work));
  }
  return cuda::kSuccess;
}

}  // namespace muster::fakes::gpu

namespace fake = muster::fakes::gpu;
namespace cuda = muster::bench::cuda;

#define FAKE_CUDA extern "C" MUSTER_FAKE_API
// Every function runs alone, and begins with what may keep it from running at all.
#define FAKE_BEGIN(function)                      \
  const std::scoped_lock fake_lock(fake::lock()); \
  if (const int wanted = fake::answer(function); wanted != 0) return wanted;
#define FAKE_BEGIN_IN_CONTEXT(function)           \
  const std::scoped_lock fake_lock(fake::lock()); \
  if (const int wanted = fake::usable(function); wanted != 0) return wanted;

FAKE_CUDA int cuInit(unsigned flags) {
  FAKE_BEGIN("cuInit")
  if (flags != 0) return cuda::kInvalidValue;
  fake::driver().visible = fake::visible_gpus();
  if (fake::driver().visible.empty()) return cuda::kNoDevice;
  fake::driver().started = true;
  return cuda::kSuccess;
}

FAKE_CUDA int cuDriverGetVersion(int* version) {
  FAKE_BEGIN("cuDriverGetVersion")
  if (version == nullptr) return cuda::kInvalidValue;
  *version = fake::scenario().cuda_version;
  return cuda::kSuccess;
}

FAKE_CUDA int cuGetErrorName(int code, const char** name) {
  if (name == nullptr) return cuda::kInvalidValue;
  static const std::map<int, const char*> known_names{
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {3, "CUDA_ERROR_NOT_INITIALIZED"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {101, "CUDA_ERROR_INVALID_DEVICE"},
      {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {400, "CUDA_ERROR_INVALID_HANDLE"},
      {500, "CUDA_ERROR_NOT_FOUND"},
      {600, "CUDA_ERROR_NOT_READY"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
  };
  const auto found = known_names.find(code);
  *name = found == known_names.end() ? nullptr : found->second;
  return found == known_names.end() ? cuda::kInvalidValue : cuda::kSuccess;
}

FAKE_CUDA int cuGetErrorString(int code, const char** text) {
  if (text == nullptr) return cuda::kInvalidValue;
  static const std::map<int, const char*> known_texts{
      {1, "invalid argument"},
      {2, "out of memory"},
      {3, "initialization error"},
      {100, "no CUDA-capable device is detected"},
      {101, "invalid device ordinal"},
      {201, "invalid device context"},
      {400, "invalid resource handle"},
      {500, "named symbol not found"},
      {600, "device not ready"},
      {700, "an illegal memory access was encountered"},
      {802, "system not yet initialized"},
  };
  const auto found = known_texts.find(code);
  *text = found == known_texts.end() ? nullptr : found->second;
  return found == known_texts.end() ? cuda::kInvalidValue : cuda::kSuccess;
}

FAKE_CUDA int cuDeviceGetCount(int* count) {
  FAKE_BEGIN("cuDeviceGetCount")
  if (!fake::driver().started) return cuda::kNotInitialised;
  if (count == nullptr) return cuda::kInvalidValue;
  *count = static_cast<int>(fake::driver().visible.size());
  return cuda::kSuccess;
}

// A device is the number of the GPU in its node, and not the ordinal: whoever takes one for the
// other is found out.
FAKE_CUDA int cuDeviceGet(int* device, int ordinal) {
  FAKE_BEGIN("cuDeviceGet")
  if (!fake::driver().started) return cuda::kNotInitialised;
  if (device == nullptr) return cuda::kInvalidValue;
  const auto& visible = fake::driver().visible;
  if (ordinal < 0 || ordinal >= static_cast<int>(visible.size())) return cuda::kInvalidDevice;
  *device = visible[static_cast<std::size_t>(ordinal)];
  return cuda::kSuccess;
}

FAKE_CUDA int cuDeviceGetName(char* name, int length, int device) {
  FAKE_BEGIN("cuDeviceGetName")
  if (!fake::is_device(device)) return cuda::kInvalidDevice;
  return fake::copy_text(fake::scenario().model, name, length);
}

FAKE_CUDA int cuDeviceGetPCIBusId(char* text, int length, int device) {
  FAKE_BEGIN("cuDeviceGetPCIBusId")
  if (!fake::is_device(device)) return cuda::kInvalidDevice;
  return fake::copy_text(fmt::format("{:04X}:0A:00.0", device + 1), text, length);
}

FAKE_CUDA int cuDeviceGetAttribute(int* value, int attribute, int device) {
  FAKE_BEGIN("cuDeviceGetAttribute")
  if (!fake::is_device(device)) return cuda::kInvalidDevice;
  if (value == nullptr || attribute != cuda::kMultiprocessors) return cuda::kInvalidValue;
  *value = 132;
  return cuda::kSuccess;
}

FAKE_CUDA int cuDevicePrimaryCtxRetain(Context* context, int device) {
  FAKE_BEGIN("cuDevicePrimaryCtxRetain")
  if (context == nullptr) return cuda::kInvalidValue;
  if (!fake::is_device(device)) return cuda::kInvalidDevice;
  ++fake::driver().devices[device].retained;
  *context = fake::context_of(device);
  return cuda::kSuccess;
}

FAKE_CUDA int cuDevicePrimaryCtxRelease_v2(int device) {
  FAKE_BEGIN("cuDevicePrimaryCtxRelease_v2")
  if (!fake::is_device(device)) return cuda::kInvalidDevice;
  if (fake::driver().devices[device].retained == 0) return cuda::kInvalidContext;
  --fake::driver().devices[device].retained;
  return cuda::kSuccess;
}

FAKE_CUDA int cuCtxSetCurrent(Context context) {
  FAKE_BEGIN("cuCtxSetCurrent")
  bool known = context == nullptr;
  for (const auto& [gpu, device] : fake::driver().devices) {
    known = known || (device.retained > 0 && context == fake::context_of(gpu));
  }
  if (!known) return cuda::kInvalidContext;
  fake::t_context = context;
  return cuda::kSuccess;
}

FAKE_CUDA int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  FAKE_BEGIN_IN_CONTEXT("cuMemGetInfo_v2")
  *total = fake::scenario().memory;
  *free = *total - fake::used_memory(fake::current_gpu());
  return cuda::kSuccess;
}

FAKE_CUDA int cuMemAlloc_v2(Pointer* memory, std::size_t bytes) {
  FAKE_BEGIN_IN_CONTEXT("cuMemAlloc_v2")
  if (memory == nullptr || bytes == 0) return cuda::kInvalidValue;
  const auto used = fake::used_memory(fake::current_gpu());
  if (bytes > fake::scenario().memory - used) return cuda::kOutOfMemory;
  *memory = fake::reserve(fake::current_gpu(), bytes);
  return *memory == 0 ? cuda::kOutOfMemory : cuda::kSuccess;
}

FAKE_CUDA int cuMemFree_v2(Pointer memory) {
  FAKE_BEGIN_IN_CONTEXT("cuMemFree_v2")
  return fake::give_back(memory) ? cuda::kSuccess : cuda::kInvalidValue;
}

FAKE_CUDA int cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuMemcpyHtoDAsync_v2")
  if (from == nullptr || fake::reach(fake::address(to)) < bytes) return cuda::kInvalidValue;
  const std::string copy(static_cast<const char*>(from), bytes);
  return fake::put(stream, fake::plain([to, copy](fake::Time& /*now*/) {
                     std::memcpy(fake::pointer_to(to), copy.data(), copy.size());
                     fake::written(fake::address(to), copy.size(), copy.size());
                   }));
}

FAKE_CUDA int cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuMemcpyDtoHAsync_v2")
  if (to == nullptr || fake::reach(fake::address(from)) < bytes) return cuda::kInvalidValue;
  return fake::put(stream, fake::plain([to, from, bytes](fake::Time& /*now*/) {
                     std::memcpy(to, fake::address(from), bytes);
                   }));
}

FAKE_CUDA int cuMemsetD8Async(Pointer to, unsigned char value, std::size_t bytes, Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuMemsetD8Async")
  if (fake::reach(fake::address(to)) < bytes) return cuda::kInvalidValue;
  return fake::put(stream, fake::plain([to, value, bytes](fake::Time& /*now*/) {
                     const auto real = std::min<std::uint64_t>(bytes, fake::kReal);
                     std::memset(fake::pointer_to(to), value, real);
                     fake::written(fake::address(to), bytes, real);
                   }));
}

FAKE_CUDA int cuStreamCreate(Stream* stream, unsigned flags) {
  FAKE_BEGIN_IN_CONTEXT("cuStreamCreate")
  if (stream == nullptr || flags > cuda::kStreamNonBlocking) return cuda::kInvalidValue;
  auto state = std::make_unique<fake::StreamState>();
  state->gpu = fake::current_gpu();
  *stream = fake::driver().streams.add(std::move(state));
  return cuda::kSuccess;
}

FAKE_CUDA int cuStreamDestroy_v2(Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuStreamDestroy_v2")
  if (fake::own_stream(stream) == nullptr) return cuda::kInvalidHandle;
  return fake::driver().streams.drop(stream) ? cuda::kSuccess : cuda::kInvalidHandle;
}

FAKE_CUDA int cuStreamQuery(Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuStreamQuery")
  auto* state = fake::own_stream(stream);
  if (state == nullptr) return cuda::kInvalidHandle;
  if (state->captured != nullptr) {
    state->capture_broken = true;
    return cuda::kCaptureUnsupported;
  }
  return fake::advance(*state) ? cuda::kSuccess : cuda::kNotReady;
}

FAKE_CUDA int cuEventCreate(Event* event, unsigned flags) {
  FAKE_BEGIN_IN_CONTEXT("cuEventCreate")
  if (event == nullptr || flags != 0) return cuda::kInvalidValue;
  auto state = std::make_unique<fake::EventState>();
  state->gpu = fake::current_gpu();
  *event = fake::driver().events.add(std::move(state));
  return cuda::kSuccess;
}

FAKE_CUDA int cuEventDestroy_v2(Event event) {
  FAKE_BEGIN_IN_CONTEXT("cuEventDestroy_v2")
  return fake::driver().events.drop(event) ? cuda::kSuccess : cuda::kInvalidHandle;
}

FAKE_CUDA int cuEventRecord(Event event, Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuEventRecord")
  auto* state = fake::driver().events.find(event);
  const auto* on = fake::own_stream(stream);
  if (state == nullptr || on == nullptr || state->gpu != on->gpu) return cuda::kInvalidHandle;
  if (on->captured != nullptr) return cuda::kCaptureUnsupported;
  state->recorded = true;
  state->pending = true;
  return fake::put(stream, fake::plain([event](fake::Time& now) {
                     auto* reached = fake::driver().events.find(event);
                     if (reached == nullptr) return;
                     reached->pending = false;
                     reached->at = now;
                   }));
}

FAKE_CUDA int cuEventElapsedTime(float* milliseconds, Event first, Event second) {
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

FAKE_CUDA int cuModuleLoadData(Module* module, const void* image) {
  FAKE_BEGIN_IN_CONTEXT("cuModuleLoadData")
  if (module == nullptr || image == nullptr) return cuda::kInvalidValue;
  auto text = std::make_unique<std::string>(static_cast<const char*>(image));
  if (text->find(".target sm_") == std::string::npos) return cuda::kInvalidPtx;
  *module = fake::driver().modules.add(std::move(text));
  return cuda::kSuccess;
}

FAKE_CUDA int cuModuleUnload(Module module) {
  FAKE_BEGIN_IN_CONTEXT("cuModuleUnload")
  return fake::driver().modules.drop(module) ? cuda::kSuccess : cuda::kInvalidHandle;
}

FAKE_CUDA int cuModuleGetFunction(Kernel* kernel, Module module, const char* name) {
  FAKE_BEGIN_IN_CONTEXT("cuModuleGetFunction")
  if (kernel == nullptr || name == nullptr) return cuda::kInvalidValue;
  const auto* text = fake::driver().modules.find(module);
  if (text == nullptr) return cuda::kInvalidHandle;
  const auto kind = fake::kernel_named(name);
  if (!kind || text->find(fmt::format(".entry {}(", name)) == std::string::npos) {
    return cuda::kNotFound;
  }
  *kernel = fake::driver().kernels.add(std::make_unique<fake::KernelKind>(*kind));
  return cuda::kSuccess;
}

FAKE_CUDA int cuLaunchKernel(Kernel kernel,
                             unsigned grid_x,
                             unsigned grid_y,
                             unsigned grid_z,
                             unsigned block_x,
                             unsigned block_y,
                             unsigned block_z,
                             unsigned shared_bytes,
                             Stream stream,
                             void** arguments,
                             void** extra) {
  FAKE_BEGIN_IN_CONTEXT("cuLaunchKernel")
  const auto* kind = fake::driver().kernels.find(kernel);
  if (kind == nullptr) return cuda::kInvalidHandle;
  const bool one_dimension = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1;
  if (!one_dimension || grid_x == 0 || block_x == 0 || block_x > 1024 || shared_bytes != 0 ||
      arguments == nullptr || extra != nullptr) {
    return cuda::kInvalidValue;
  }
  auto work = fake::kernel_work(*kind, arguments);
  return work ? fake::put(stream, std::move(work)) : cuda::kIllegalAddress;
}

#ifndef MUSTER_FAKE_WITHOUT_GRAPHS
FAKE_CUDA int cuStreamBeginCapture_v2(Stream stream, int mode) {
  FAKE_BEGIN_IN_CONTEXT("cuStreamBeginCapture_v2")
  auto* state = fake::own_stream(stream);
  if (state == nullptr) return cuda::kInvalidHandle;
  if (mode < 0 || mode > 2 || state->captured != nullptr) return cuda::kInvalidValue;
  state->captured = std::make_unique<fake::GraphWork>();
  state->capture_broken = false;
  return cuda::kSuccess;
}

FAKE_CUDA int cuStreamEndCapture(Stream stream, Graph* graph) {
  FAKE_BEGIN_IN_CONTEXT("cuStreamEndCapture")
  auto* state = fake::own_stream(stream);
  if (state == nullptr) return cuda::kInvalidHandle;
  if (graph == nullptr || state->captured == nullptr) return cuda::kInvalidValue;
  auto captured = std::move(state->captured);
  if (state->capture_broken) return cuda::kCaptureInvalidated;
  *graph = fake::driver().graphs.add(std::move(captured));
  return cuda::kSuccess;
}

FAKE_CUDA int cuGraphInstantiateWithFlags(GraphRun* run, Graph graph, unsigned long long flags) {
  FAKE_BEGIN_IN_CONTEXT("cuGraphInstantiateWithFlags")
  if (run == nullptr || flags != 0) return cuda::kInvalidValue;
  const auto* work = fake::driver().graphs.find(graph);
  if (work == nullptr) return cuda::kInvalidHandle;
  *run = fake::driver().runs.add(std::make_unique<fake::GraphWork>(*work));
  return cuda::kSuccess;
}

FAKE_CUDA int cuGraphLaunch(GraphRun run, Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuGraphLaunch")
  const auto* kept = fake::driver().runs.find(run);
  if (kept == nullptr) return cuda::kInvalidHandle;
  for (const auto& work : kept->work) {
    const int code = fake::put(stream, work);
    if (code != cuda::kSuccess) return code;
  }
  return cuda::kSuccess;
}

FAKE_CUDA int cuGraphDestroy(Graph graph) {
  FAKE_BEGIN("cuGraphDestroy")
  return fake::driver().graphs.drop(graph) ? cuda::kSuccess : cuda::kInvalidHandle;
}

FAKE_CUDA int cuGraphExecDestroy(GraphRun run) {
  FAKE_BEGIN("cuGraphExecDestroy")
  return fake::driver().runs.drop(run) ? cuda::kSuccess : cuda::kInvalidHandle;
}
#endif
