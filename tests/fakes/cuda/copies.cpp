// SPDX-License-Identifier: Apache-2.0
// The fake CUDA driver's functions for pinned memory and for copies between GPUs, which take the
// time of the scenario's links.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tests/fakes/cuda/driver.hpp"

using muster::bench::cuda::Context;
using muster::bench::cuda::Pointer;
using muster::bench::cuda::Stream;

namespace fake = muster::fakes::gpu;
namespace cuda = muster::bench::cuda;

namespace {

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
  const auto& hardware = fake::scenario().node;
  const auto named = hardware.peer_of.find({reader, other});
  return named == hardware.peer_of.end() ? hardware.peer_gbs : named->second;
}

int gpu_of(Context context) {
  for (const auto& [gpu, device] : fake::driver().devices) {
    if (fake::context_of(gpu) == context) return gpu;
  }
  return -1;
}

}  // namespace

bool fake::is_pinned(const void* memory, std::uint64_t bytes) {
  return std::ranges::any_of(pinned(), [&](const auto& each) {
    const auto* at = static_cast<const char*>(memory);
    return at >= each.first && at + bytes <= each.first + each.second;
  });
}

bool fake::loses(bool may_lose) {
  static std::uint64_t copies = 0;
  return may_lose && ++copies >= scenario().node.lost_from;
}

fake::Time fake::copy_time(int gpu, const void* host, std::uint64_t bytes) {
  if (!is_pinned(host, bytes)) return 0;
  const auto& hardware = scenario().node;
  const auto named = hardware.pcie_of.find(gpu);
  const double gbs = named == hardware.pcie_of.end() ? hardware.pcie_gbs : named->second;
  return time_of(static_cast<double>(bytes) / (gbs * 1e9));
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
  if (can == nullptr) return cuda::kInvalidValue;
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
                     const std::pair pair(reader, other);
                     now += time;
                     if (fake::loses(node.lost_pair == pair)) return;
                     std::memcpy(into, source, real);
                     fake::written(into, bytes, real);
                     if (node.spoilt_pair == pair && real > 0) *into ^= 4;
                   }));
}
