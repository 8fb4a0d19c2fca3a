// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "bench/backends/nccl/library.hpp"
#include "bench/node/cpus.hpp"
#include "bench/node/gpus.hpp"
#include "bench/node/rdma/rdma.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"

namespace muster::bench::node {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

std::uint64_t word_of(std::uint64_t seed, std::uint64_t index) {
  return (seed + index) * 0x9e3779b97f4a7c15U;
}

void fill_words(std::span<std::uint64_t> words, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < words.size(); ++i) words[i] = word_of(seed, i);
}

std::optional<Difference> compare_words(std::span<const std::uint64_t> words, std::uint64_t seed) {
  Difference difference;
  for (std::uint64_t i = 0; i < words.size(); ++i) {
    if (words[i] == word_of(seed, i)) continue;
    if (difference.words++ == 0) difference.first_byte = i * sizeof(std::uint64_t);
  }
  return difference.words == 0 ? std::nullopt : std::optional(difference);
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

class HostMemory final : public RdmaMemory {
 public:
  HostMemory(const Hca& hca, FreshMemory memory)
      : RdmaMemory(hca, memory.bytes()), memory_(std::move(memory)) {}

  ~HostMemory() override { deregister(); }

  [[nodiscard]] Result<void> set_up() {
    if (const auto node = hca_.numa_node()) (void)memory_.bind_to(*node);
    TRY(clear(bytes_));
    auto* const begin = memory_.as<std::uint64_t>();
    std::memcpy(&address_, static_cast<const void*>(&begin), sizeof(begin));
    region_ = register_memory(hca_, address_, bytes_);
    if (region_ != nullptr) return {};
    return make_error(fmt::format("register {} MiB of memory: {}{}", bytes_ >> 20U,
                                  errno_text(errno), errno == ENOMEM ? "; see `ulimit -l`" : ""));
  }

  [[nodiscard]] Result<void> fill(std::uint64_t seed) override {
    fill_words(words(bytes_), seed);
    return {};
  }

  [[nodiscard]] Result<void> clear(std::uint64_t bytes) override {
    std::memset(memory_.as<std::uint64_t>(), 0xff, bytes);
    return {};
  }

  [[nodiscard]] Result<std::optional<Difference>> compare(std::uint64_t seed,
                                                          std::uint64_t bytes) override {
    return compare_words(words(bytes), seed);
  }

 private:
  [[nodiscard]] std::span<std::uint64_t> words(std::uint64_t bytes) const {
    return {memory_.as<std::uint64_t>(), bytes / sizeof(std::uint64_t)};
  }

  FreshMemory memory_;
};

class GpuMemory final : public RdmaMemory {
 public:
  GpuMemory(const Hca& hca, Gpu& gpu, cuda::Library cuda, std::uint64_t bytes)
      : RdmaMemory(hca, bytes), gpu_(gpu), cuda_(std::move(cuda)) {}

  ~GpuMemory() override {
    deregister();
    if (gpu_.use()) gpu_.release(memory_);
  }

  [[nodiscard]] Result<void> set_up() {
    constexpr std::uint64_t kPage = 2UL << 20U;  // a dma-buf consists of whole pages
    const auto whole = (bytes_ + kPage - 1) / kPage * kPage;
    TRY(gpu_.use());
    TRY_ASSIGN(memory_, gpu_.allocate(whole));
    address_ = memory_;
    errno = 0;
    region_ = as_dma_buf(whole);
    if (region_ == nullptr) region_ = register_memory(hca_, address_, bytes_);
    if (region_ != nullptr) return clear(bytes_);
    return make_error(
        fmt::format("register memory of the GPU: {}; neither as a dma-buf nor by nvidia_peermem",
                    errno_text(errno)));
  }

  [[nodiscard]] Result<void> fill(std::uint64_t seed) override {
    TRY(gpu_.use());
    words_.resize(bytes_ / sizeof(std::uint64_t));
    fill_words(words_, seed);
    TRY(call(cuda_, cuda_.copy_in, memory_, words_.data(), bytes_, gpu_.stream()));
    return gpu_.wait(no_watch);
  }

  [[nodiscard]] Result<void> clear(std::uint64_t bytes) override {
    TRY(gpu_.use());
    TRY(gpu_.poison(memory_, bytes));
    return gpu_.wait(no_watch);
  }

  [[nodiscard]] Result<std::optional<Difference>> compare(std::uint64_t seed,
                                                          std::uint64_t bytes) override {
    TRY(gpu_.use());
    TRY(flush());
    words_.resize(bytes / sizeof(std::uint64_t));
    TRY(call(cuda_, cuda_.copy_out, words_.data(), memory_, bytes, gpu_.stream()));
    TRY(gpu_.wait(no_watch));
    return compare_words(words_, seed);
  }

 private:
  // Makes all that HCAs have written visible to the GPU, unless it orders their writes itself.
  [[nodiscard]] Result<void> flush() const {
    constexpr int kCurrentContext = 0;
    int ordering = cuda::kToOwner;
    const int asked = cuda_.device_attribute.call(&ordering, cuda::kRdmaOrdering, gpu_.device());
    const bool is_ordered = asked == cuda::kSuccess && ordering >= cuda::kToOwner;
    if (is_ordered || cuda_.flush_rdma.call == nullptr) return {};
    const int code = cuda_.flush_rdma.call(kCurrentContext, cuda::kToOwner);
    if (code == cuda::kSuccess || code == cuda::kNotSupported) return {};
    return tl::unexpected(trouble(cuda_, cuda_.flush_rdma.name, code));
  }

  // Returns null if the driver, the library or the HCA does not support it. Prefers relaxed
  // ordering, see register_memory().
  [[nodiscard]] ibv_mr* as_dma_buf(std::uint64_t whole) const {
    constexpr int kDmaBuf = 1;
    const auto& library = hca_.library();
    if (cuda_.range_handle.call == nullptr || library.reg_dmabuf == nullptr) return nullptr;
    int file = -1;
    if (cuda_.range_handle.call(&file, memory_, whole, kDmaBuf, 0) != cuda::kSuccess) {
      return nullptr;
    }
    auto* region = library.reg_dmabuf(hca_.domain(), 0, bytes_, address_, file,
                                      kAccess | IBV_ACCESS_RELAXED_ORDERING);
    if (region == nullptr) {
      region = library.reg_dmabuf(hca_.domain(), 0, bytes_, address_, file, kAccess);
    }
    const int why = errno;
    ::close(file);
    errno = why;
    return region;
  }

  Gpu& gpu_;
  cuda::Library cuda_;
  cuda::Pointer memory_ = 0;
  std::vector<std::uint64_t> words_;  // the host's end of copies
};

// The device's path in sysfs, or an empty text.
std::string path_of(const std::string& link) {
  const auto path = Root().resolve(link);
  return path ? *path : std::string();
}

}  // namespace

RdmaMemory::~RdmaMemory() = default;

void RdmaMemory::deregister() {
  if (auto* const region = std::exchange(region_, nullptr); region != nullptr) {
    hca_.library().dereg_mr(region);
  }
}

Result<std::unique_ptr<RdmaMemory>> RdmaMemory::reserve(const Hca& hca, std::uint64_t bytes) {
  TRY_ASSIGN(auto memory, FreshMemory::reserve(bytes));
  auto made = std::make_unique<HostMemory>(hca, std::move(memory));
  TRY(made->set_up());
  return made;
}

Result<std::unique_ptr<RdmaMemory>> RdmaMemory::reserve_on(const Hca& hca, Gpu& gpu,
                                                           const cuda::Library& cuda,
                                                           std::uint64_t bytes) {
  auto made = std::make_unique<GpuMemory>(hca, gpu, cuda, bytes);
  TRY(made->set_up());
  return made;
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
