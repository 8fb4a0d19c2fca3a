// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA driver that muster-bench uses, on host memory and a virtual clock. They
// are stricter than NVIDIA's.
#include "tests/fakes/cuda/driver.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

using muster::bench::cuda::Context;
using muster::bench::cuda::Kernel;
using muster::bench::cuda::Module;
using muster::bench::cuda::Pointer;
using muster::bench::cuda::Stream;

namespace fake = muster::fakes::gpu;
namespace cuda = muster::bench::cuda;

namespace {

int copy_text(const std::string& text, char* out, int length) {
  if (out == nullptr || length <= static_cast<int>(text.size())) return cuda::kInvalidValue;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return cuda::kSuccess;
}

struct ErrorText {
  const char* name;
  const char* text;
};

int look_up(int code, const char* ErrorText::*member, const char** out) {
  static const std::map<int, ErrorText> all{
      {1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
      {2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
      {3, {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"}},
      {100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
      {101, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
      {201, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
      {400, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
      {500, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
      {600, {"CUDA_ERROR_NOT_READY", "device not ready"}},
      {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
      {802, {"CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"}}};
  const auto found = all.find(code);
  *out = found == all.end() ? nullptr : found->second.*member;
  return found == all.end() ? cuda::kInvalidValue : cuda::kSuccess;
}

std::map<char*, std::size_t>& pinned() {
  static std::map<char*, std::size_t> all;
  return all;
}

bool has_context(int gpu) {
  const auto found = fake::driver().devices.find(gpu);
  return found != fake::driver().devices.end() && found->second.retained > 0;
}

// 0 if the two have no direct path.
double gbs_between(int reader, int other) {
  const auto& node = fake::scenario().node;
  return fake::number_for(node.peer, fmt::format("{}-{}", reader, other), node.peer_gbs);
}

int gpu_of(Context context) {
  for (const auto& [gpu, device] : fake::driver().devices) {
    if (fake::context_of(gpu) == context) return gpu;
  }
  return -1;
}

bool is_pinned(const void* memory, std::uint64_t bytes) {
  return std::ranges::any_of(pinned(), [&](const auto& each) {
    const auto* at = static_cast<const char*>(memory);
    return at >= each.first && at + bytes <= each.first + each.second;
  });
}

// Counts a copy that the scenario may lose, and returns whether it does.
bool loses(bool may_lose) {
  static std::uint64_t copies = 0;
  return may_lose && ++copies >= fake::scenario().node.lost_from;
}

bool refuses(const void* pinned, std::uint64_t bytes) {
  static std::uint64_t copies = 0;
  return is_pinned(pinned, bytes) && ++copies == fake::scenario().node.refused_copy;
}

// The time of a copy between a GPU and pinned memory; other memory takes none.
fake::Time copy_time(int gpu, const void* host, std::uint64_t bytes) {
  if (!is_pinned(host, bytes)) return 0;
  const auto& node = fake::scenario().node;
  const double gbs = fake::number_for(node.pcie, std::to_string(gpu), node.pcie_gbs);
  return fake::time_of(static_cast<double>(bytes) / (gbs * 1e9));
}

}  // namespace

FAKE_CALL int cuInit(unsigned flags) {
  FAKE_BEGIN("cuInit")
  if (flags != 0) return cuda::kInvalidValue;
  fake::driver().visible = fake::visible_gpus();
  if (fake::driver().visible.empty()) return cuda::kNoDevice;
  fake::driver().started = true;
  return cuda::kSuccess;
}

FAKE_CALL int cuDriverGetVersion(int* version) {
  FAKE_BEGIN("cuDriverGetVersion")
  *version = 13000;
  return cuda::kSuccess;
}

FAKE_CALL int cuGetErrorName(int code, const char** name) {
  return look_up(code, &ErrorText::name, name);
}

FAKE_CALL int cuGetErrorString(int code, const char** text) {
  return look_up(code, &ErrorText::text, text);
}

FAKE_CALL int cuDeviceGetCount(int* count) {
  FAKE_BEGIN("cuDeviceGetCount")
  if (!fake::driver().started) return cuda::kNotInitialised;
  *count = static_cast<int>(fake::driver().visible.size());
  return cuda::kSuccess;
}

// A device is the number of the GPU in its node, not the ordinal, so that confusing the two fails.
FAKE_CALL int cuDeviceGet(int* device, int ordinal) {
  FAKE_BEGIN("cuDeviceGet")
  if (!fake::driver().started) return cuda::kNotInitialised;
  const auto& visible = fake::driver().visible;
  if (ordinal < 0 || ordinal >= static_cast<int>(visible.size())) return cuda::kInvalidDevice;
  *device = visible[static_cast<std::size_t>(ordinal)];
  return cuda::kSuccess;
}

FAKE_CALL int cuDeviceGetName(char* name, int length, int device) {
  FAKE_BEGIN("cuDeviceGetName")
  if (!fake::is_device(device)) return cuda::kInvalidDevice;
  return copy_text(fake::scenario().name, name, length);
}

FAKE_CALL int cuDeviceGetPCIBusId(char* text, int length, int device) {
  FAKE_BEGIN("cuDeviceGetPCIBusId")
  if (!fake::is_device(device)) return cuda::kInvalidDevice;
  return copy_text(fmt::format("{:04X}:0A:00.0", device + 1), text, length);
}

FAKE_CALL int cuDeviceGetAttribute(int* value, int attribute, int device) {
  FAKE_BEGIN("cuDeviceGetAttribute")
  if (!fake::is_device(device)) return cuda::kInvalidDevice;
  if (attribute == cuda::kRdmaOrdering) {
    *value = fake::scenario().node.late_rdma ? 0 : cuda::kToOwner;
    return cuda::kSuccess;
  }
  if (attribute != cuda::kMultiprocessors) return cuda::kInvalidValue;
  *value = 132;
  return cuda::kSuccess;
}

FAKE_CALL int cuDevicePrimaryCtxRetain(Context* context, int device) {
  FAKE_BEGIN("cuDevicePrimaryCtxRetain")
  if (!fake::is_device(device)) return cuda::kInvalidDevice;
  ++fake::driver().devices[device].retained;
  *context = fake::context_of(device);
  return cuda::kSuccess;
}

FAKE_CALL int cuDevicePrimaryCtxRelease_v2(int device) {
  FAKE_BEGIN("cuDevicePrimaryCtxRelease_v2")
  if (!fake::is_device(device)) return cuda::kInvalidDevice;
  if (fake::driver().devices[device].retained == 0) return cuda::kInvalidContext;
  --fake::driver().devices[device].retained;
  return cuda::kSuccess;
}

FAKE_CALL int cuCtxSetCurrent(Context context) {
  FAKE_BEGIN("cuCtxSetCurrent")
  if (context != nullptr && !has_context(gpu_of(context))) return cuda::kInvalidContext;
  fake::set_context(context);
  return cuda::kSuccess;
}

FAKE_CALL int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  FAKE_BEGIN_IN_CONTEXT("cuMemGetInfo_v2")
  *total = fake::scenario().memory_gib << 30U;
  *free = *total - fake::used_memory(fake::current_gpu());
  return cuda::kSuccess;
}

FAKE_CALL int cuMemAlloc_v2(Pointer* memory, std::size_t bytes) {
  FAKE_BEGIN_IN_CONTEXT("cuMemAlloc_v2")
  if (memory == nullptr || bytes == 0) return cuda::kInvalidValue;
  const auto used = fake::used_memory(fake::current_gpu());
  if (bytes > (fake::scenario().memory_gib << 30U) - used) return cuda::kOutOfMemory;
  *memory = fake::reserve(fake::current_gpu(), bytes);
  return *memory == 0 ? cuda::kOutOfMemory : cuda::kSuccess;
}

// For a whole allocation, in whole pages of a GPU.
FAKE_CALL int cuMemGetHandleForAddressRange(void* handle, Pointer memory, std::size_t bytes,
                                            int kind, unsigned long long flags) {
  FAKE_BEGIN_IN_CONTEXT("cuMemGetHandleForAddressRange")
  constexpr int kDmaBuf = 1;
  constexpr std::size_t kPage = 4096;
  const bool whole = bytes != 0 && bytes % kPage == 0 && memory % kPage == 0;
  if (handle == nullptr || kind != kDmaBuf || flags != 0 || !whole ||
      fake::reach(fake::pointer_to(memory)) < bytes) {
    return cuda::kInvalidValue;
  }
  const int file = ::memfd_create("dma-buf", MFD_CLOEXEC);
  if (file < 0) return cuda::kOutOfMemory;
  fake::expose(fake::pointer_to(memory), bytes);
  std::memcpy(handle, &file, sizeof file);
  return cuda::kSuccess;
}

FAKE_CALL int cuFlushGPUDirectRDMAWrites(int target, int scope) {
  FAKE_BEGIN_IN_CONTEXT("cuFlushGPUDirectRDMAWrites")
  if (target != 0 || scope != cuda::kToOwner) return cuda::kInvalidValue;
  fake::make_visible(nullptr);
  return cuda::kSuccess;
}

FAKE_CALL int cuMemFree_v2(Pointer memory) {
  FAKE_BEGIN_IN_CONTEXT("cuMemFree_v2")
  fake::conceal(fake::pointer_to(memory));
  return fake::give_back(memory) ? cuda::kSuccess : cuda::kInvalidValue;
}

// The source is read when the copy runs, not when it is enqueued.
FAKE_CALL int cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuMemcpyHtoDAsync_v2")
  if (from == nullptr || fake::reach(fake::pointer_to(to)) < bytes) return cuda::kInvalidValue;
  if (refuses(from, bytes)) return cuda::kIllegalAddress;
  return fake::put(stream,
                   fake::plain([to, from, bytes, gpu = fake::current_gpu()](fake::Time& now) {
                     now += copy_time(gpu, from, bytes);
                     const bool pinned = is_pinned(from, bytes);
                     if (loses(pinned && fake::scenario().node.lost_copy_in == gpu)) return;
                     std::memcpy(fake::pointer_to(to), from, bytes);
                     fake::written(fake::pointer_to(to), bytes, bytes);
                     fake::make_visible(fake::pointer_to(to));
                   }));
}

// A copy to memory that is not pinned would block.
FAKE_CALL int cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuMemcpyDtoHAsync_v2")
  if (to == nullptr || fake::reach(fake::pointer_to(from)) < bytes) return cuda::kInvalidValue;
  const auto* on = fake::own_stream(stream);
  if (on == nullptr) return cuda::kInvalidHandle;
  const bool waits = on->running || !on->waiting.empty();
  if (waits && !is_pinned(to, bytes)) return cuda::kNotReady;
  return fake::put(stream,
                   fake::plain([to, from, bytes, gpu = fake::current_gpu()](fake::Time& now) {
                     const auto& node = fake::scenario().node;
                     const bool pinned = is_pinned(to, bytes);
                     now += copy_time(gpu, to, bytes);
                     if (loses(pinned && node.lost_copy == gpu)) return;
                     std::memcpy(to, fake::visible(fake::pointer_to(from), bytes), bytes);
                     if (pinned && node.spoilt_copy == gpu) static_cast<char*>(to)[bytes / 2] ^= 1;
                   }));
}

FAKE_CALL int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  FAKE_BEGIN_IN_CONTEXT("cuMemHostAlloc")
  if (memory == nullptr || bytes == 0 || flags > 7) return cuda::kInvalidValue;
  void* made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast,performance-no-int-to-ptr): the macro's
  if (made == MAP_FAILED) return cuda::kOutOfMemory;
  pinned()[static_cast<char*>(made)] = bytes;
  *memory = made;
  return cuda::kSuccess;
}

FAKE_CALL int cuMemFreeHost(void* memory) {
  FAKE_BEGIN("cuMemFreeHost")
  const auto found = pinned().find(static_cast<char*>(memory));
  if (found == pinned().end()) return cuda::kInvalidValue;
  ::munmap(memory, found->second);
  pinned().erase(found);
  return cuda::kSuccess;
}

FAKE_CALL int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  FAKE_BEGIN("cuDeviceCanAccessPeer")
  if (!fake::is_device(device) || !fake::is_device(peer)) return cuda::kInvalidDevice;
  *can = device == peer || gbs_between(device, peer) == 0 ? 0 : 1;
  return cuda::kSuccess;
}

FAKE_CALL int cuDeviceGetP2PAttribute(int* value, int attribute, int device, int peer) {
  FAKE_BEGIN("cuDeviceGetP2PAttribute")
  if (!fake::is_device(device) || !fake::is_device(peer)) return cuda::kInvalidDevice;
  if (value == nullptr || attribute != 1 || device == peer) return cuda::kInvalidValue;
  *value = 0;
  return cuda::kSuccess;
}

FAKE_CALL int cuCtxEnablePeerAccess(Context peer, unsigned flags) {
  FAKE_BEGIN_IN_CONTEXT("cuCtxEnablePeerAccess")
  const int gpu = gpu_of(peer);
  if (flags != 0 || gpu == fake::current_gpu()) return cuda::kInvalidValue;
  if (!has_context(gpu)) return cuda::kInvalidContext;
  constexpr int kAlready = 704;
  auto& known = fake::driver().devices[fake::current_gpu()].peers;
  return known.insert(gpu).second ? cuda::kSuccess : kAlready;
}

FAKE_CALL int cuMemcpyPeerAsync(Pointer to, Context to_context, Pointer from, Context from_context,
                                std::size_t bytes, Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuMemcpyPeerAsync")
  const int reader = gpu_of(to_context);
  const int other = gpu_of(from_context);
  if (!has_context(reader) || !has_context(other)) return cuda::kInvalidContext;
  auto* into = static_cast<char*>(fake::pointer_to(to));
  const auto* source = static_cast<const char*>(fake::pointer_to(from));
  if (fake::reach_on(reader, into) < bytes || fake::reach_on(other, source) < bytes) {
    return cuda::kInvalidValue;
  }
  constexpr double kThroughHost = 20;
  const double direct = gbs_between(reader, other);
  const double gbs = direct > 0 ? direct : kThroughHost;
  const auto time = fake::time_of(static_cast<double>(bytes) / (gbs * 1e9));
  return fake::put(stream, fake::plain([=](fake::Time& now) {
                     const auto real = fake::real_bytes(source, bytes);
                     const auto& node = fake::scenario().node;
                     const fake::Pair pair{reader, other};
                     now += time;
                     if (loses(node.lost_pair == pair)) return;
                     std::memcpy(into, source, real);
                     fake::written(into, bytes, real);
                     if (node.spoilt_pair == pair && real > 0) *into ^= 4;
                   }));
}

FAKE_CALL int cuMemsetD8Async(Pointer to, unsigned char value, std::size_t bytes, Stream stream) {
  FAKE_BEGIN_IN_CONTEXT("cuMemsetD8Async")
  if (fake::reach(fake::pointer_to(to)) < bytes) return cuda::kInvalidValue;
  return fake::put(stream, fake::plain([to, value, bytes](fake::Time& /*now*/) {
                     const auto real = std::min<std::uint64_t>(bytes, fake::kReal);
                     std::memset(fake::pointer_to(to), value, real);
                     fake::written(fake::pointer_to(to), bytes, real);
                     fake::make_visible(fake::pointer_to(to));
                   }));
}

FAKE_CALL int cuModuleLoadData(Module* module, const void* image) {
  FAKE_BEGIN_IN_CONTEXT("cuModuleLoadData")
  if (module == nullptr || image == nullptr) return cuda::kInvalidValue;
  std::string text(static_cast<const char*>(image));
  if (text.find(".target sm_") == std::string::npos) return cuda::kInvalidPtx;
  *module = fake::driver().modules.add(std::move(text));
  return cuda::kSuccess;
}

FAKE_CALL int cuModuleUnload(Module module) {
  FAKE_BEGIN_IN_CONTEXT("cuModuleUnload")
  return fake::driver().modules.drop(module) ? cuda::kSuccess : cuda::kInvalidHandle;
}

FAKE_CALL int cuModuleGetFunction(Kernel* kernel, Module module, const char* name) {
  FAKE_BEGIN_IN_CONTEXT("cuModuleGetFunction")
  if (kernel == nullptr || name == nullptr) return cuda::kInvalidValue;
  const auto* text = fake::driver().modules.find(module);
  if (text == nullptr) return cuda::kInvalidHandle;
  const auto code = fake::kernel_named(name);
  if (!code || text->find(fmt::format(".entry {}(", name)) == std::string::npos) {
    return cuda::kNotFound;
  }
  *kernel = fake::driver().kernels.add(*code);
  return cuda::kSuccess;
}

FAKE_CALL int cuLaunchKernel(Kernel kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared_bytes, Stream stream, void** arguments, void** extra) {
  FAKE_BEGIN_IN_CONTEXT("cuLaunchKernel")
  const auto* code = fake::driver().kernels.find(kernel);
  if (code == nullptr) return cuda::kInvalidHandle;
  const bool one_dimension = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1;
  if (!one_dimension || grid_x == 0 || block_x == 0 || block_x > 1024 || shared_bytes != 0 ||
      arguments == nullptr || extra != nullptr) {
    return cuda::kInvalidValue;
  }
  auto work = code->run(code->width, grid_x, arguments);
  return work ? fake::put(stream, std::move(work)) : cuda::kIllegalAddress;
}
