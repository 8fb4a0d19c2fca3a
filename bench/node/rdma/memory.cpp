// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "bench/backends/nccl/library.hpp"
#include "bench/node/gpus.hpp"
#include "bench/node/host.hpp"
#include "bench/node/rdma/rdma.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"

namespace muster::bench::node {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

std::uint64_t word_of(std::uint64_t seed, std::uint64_t index) {
  return (seed + index) * 0x9e3779b97f4a7c15U;
}

void* as_memory(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): verbs' are numbers
}

// Uses relaxed ordering, as MPI and NCCL do, because a virtual machine's PCI bus is slow without
// it.
ibv_mr* register_memory(const Hca& hca, std::uint64_t address, std::uint64_t bytes) {
  const auto& library = hca.library();
  if (library.reg_mr_relaxed != nullptr) {
    auto* const region =
        library.reg_mr_relaxed(hca.domain(), as_memory(address), bytes, address,
                               static_cast<unsigned>(kAccess) | IBV_ACCESS_RELAXED_ORDERING);
    if (region != nullptr) return region;
  }
  return library.reg_mr(hca.domain(), as_memory(address), bytes, kAccess);
}

// The device's path in sysfs, or an empty text.
std::string path_of(const std::string& link) {
  const auto path = Root().resolve(link);
  return path ? *path : std::string();
}

}  // namespace

Result<std::unique_ptr<RdmaMemory>> RdmaMemory::reserve(const Hca& hca, std::uint64_t bytes) {
  // NOLINTNEXTLINE(modernize-make-unique): private
  std::unique_ptr<RdmaMemory> made(new RdmaMemory(hca, bytes));
  TRY_ASSIGN(auto host, FreshMemory::reserve(bytes));
  if (const auto node = hca.numa_node()) (void)host.bind_to(*node);
  auto* const begin = host.as<std::uint64_t>();
  std::memcpy(&made->address_, static_cast<const void*>(&begin), sizeof(begin));
  made->host_.emplace(std::move(host));
  TRY(made->clear(bytes));
  made->region_ = register_memory(hca, made->address_, bytes);
  if (made->region_ != nullptr) return made;
  return make_error("register {} MiB of memory: {}{}", bytes >> 20U, errno_text(errno),
                    errno == ENOMEM ? "; see `ulimit -l`" : "");
}

Result<std::unique_ptr<RdmaMemory>> RdmaMemory::reserve_on(const Hca& hca, Gpu& gpu,
                                                           const cuda::Library& cuda,
                                                           std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 2UL << 20U;  // a dma-buf consists of whole pages
  const auto whole = (bytes + kPage - 1) / kPage * kPage;
  // NOLINTNEXTLINE(modernize-make-unique): private
  std::unique_ptr<RdmaMemory> made(new RdmaMemory(hca, bytes));
  made->gpu_ = &gpu;
  made->cuda_ = cuda;
  TRY(gpu.use());
  TRY_ASSIGN(made->address_, gpu.allocate(whole));
  errno = 0;
  made->region_ = made->register_dma_buf(whole);
  if (made->region_ == nullptr) made->region_ = register_memory(hca, made->address_, bytes);
  if (made->region_ == nullptr) {
    return make_error("register memory of the GPU: {}; neither as a dma-buf nor by nvidia_peermem",
                      errno_text(errno));
  }
  TRY(made->clear(bytes));
  return made;
}

RdmaMemory::~RdmaMemory() {
  if (region_ != nullptr) hca_.library().dereg_mr(region_);
  if (gpu_ != nullptr && gpu_->use()) gpu_->release(address_);
}

// The words of host memory, or of a copy of the GPU's.
std::span<std::uint64_t> RdmaMemory::words(std::uint64_t bytes) {
  if (gpu_ == nullptr) return {host_->as<std::uint64_t>(), bytes / sizeof(std::uint64_t)};
  copy_.resize(bytes / sizeof(std::uint64_t));
  return copy_;
}

Result<void> RdmaMemory::fill(std::uint64_t seed) {
  const auto filled = words(bytes_);
  for (std::uint64_t i = 0; i < filled.size(); ++i) filled[i] = word_of(seed, i);
  if (gpu_ == nullptr) return {};
  TRY(gpu_->use());
  TRY(call(cuda_, cuda_.copy_in, address_, filled.data(), bytes_, gpu_->stream()));
  return gpu_->wait(no_watch);
}

Result<void> RdmaMemory::clear(std::uint64_t bytes) {
  if (gpu_ == nullptr) {
    std::memset(host_->as<std::uint64_t>(), 0xff, bytes);
    return {};
  }
  TRY(gpu_->use());
  TRY(gpu_->poison(address_, bytes));
  return gpu_->wait(no_watch);
}

Result<std::optional<Difference>> RdmaMemory::compare(std::uint64_t seed, std::uint64_t bytes) {
  const auto seen = words(bytes);
  if (gpu_ != nullptr) TRY(read_gpu(seen));
  Difference difference;
  for (std::uint64_t i = 0; i < seen.size(); ++i) {
    if (seen[i] == word_of(seed, i)) continue;
    if (difference.words++ == 0) difference.first_byte = i * sizeof(std::uint64_t);
  }
  return difference.words == 0 ? std::nullopt : std::optional(difference);
}

// First makes everything that HCAs have written visible to the GPU, unless it orders their writes
// itself.
Result<void> RdmaMemory::read_gpu(std::span<std::uint64_t> words) {
  constexpr int kCurrentContext = 0;
  TRY(gpu_->use());
  int ordering = cuda::kToOwner;
  const int asked = cuda_.device_attribute.call(&ordering, cuda::kRdmaOrdering, gpu_->device());
  const bool is_ordered = asked == cuda::kSuccess && ordering >= cuda::kToOwner;
  if (!is_ordered && cuda_.flush_rdma.call != nullptr) {
    const int code = cuda_.flush_rdma.call(kCurrentContext, cuda::kToOwner);
    if (code != cuda::kSuccess && code != cuda::kNotSupported) {
      return tl::unexpected(trouble(cuda_, cuda_.flush_rdma.name, code));
    }
  }
  TRY(call(cuda_, cuda_.copy_out, words.data(), address_, words.size_bytes(), gpu_->stream()));
  return gpu_->wait(no_watch);
}

// Returns null if the driver, the library or the HCA does not support it. Prefers relaxed ordering,
// see register_memory().
ibv_mr* RdmaMemory::register_dma_buf(std::uint64_t whole) const {
  constexpr int kDmaBuf = 1;
  const auto& library = hca_.library();
  int file = -1;
  if (cuda_.range_handle.call == nullptr || library.reg_dmabuf == nullptr ||
      cuda_.range_handle.call(&file, address_, whole, kDmaBuf, 0) != cuda::kSuccess) {
    return nullptr;
  }
  ibv_mr* region = nullptr;
  for (const int access : {kAccess | IBV_ACCESS_RELAXED_ORDERING, kAccess}) {
    if (region != nullptr) break;
    region = library.reg_dmabuf(hca_.domain(), 0, bytes_, address_, file, access);
  }
  const int why = errno;
  ::close(file);
  errno = why;
  return region;
}

std::size_t common_folders(std::string_view one, std::string_view other) {
  const auto first = split(one, '/');
  const auto second = split(other, '/');
  return static_cast<std::size_t>(std::ranges::mismatch(first, second).in1 - first.begin());
}

NearGpus::NearGpus(const TestInput& input) {
  if (auto found = find(input); !found) trouble_ = found.error();
}

Result<void> NearGpus::find(const TestInput& input) {
  TRY_ASSIGN(cuda_, cuda::open_library(input.cuda));
  TRY(call(cuda_, cuda_.init, 0));
  int count = 0;
  TRY(call(cuda_, cuda_.device_count, &count));
  if (count == 0) return make_error("no GPU is visible");
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    TRY_ASSIGN(const auto address, pci_address_of(cuda_, ordinal));
    gpus_.push_back({path_of(fmt::format("/sys/bus/pci/devices/{}", address)), nullptr});
  }
  return {};
}

Gpu* NearGpus::near(const std::string& hca, std::size_t index) {
  const auto path = path_of(fmt::format("/sys/class/infiniband/{}/device", hca));
  std::vector<std::size_t> nearest;
  std::size_t most = 0;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const auto common = path.empty() ? 0 : common_folders(path, gpus_[i].path);
    if (common > most) nearest.clear();
    if (common >= most) nearest.push_back(i);
    most = std::max(most, common);
  }
  if (nearest.empty()) return nullptr;
  const auto ordinal = nearest[index % nearest.size()];
  auto& known = gpus_[ordinal];
  if (!known.gpu) {
    auto opened = Gpu::open(cuda_, static_cast<int>(ordinal));
    if (!opened) {
      trouble_ = opened.error();
      return nullptr;
    }
    known.gpu = *std::move(opened);
  }
  return known.gpu.get();
}

}  // namespace muster::bench::node
