// SPDX-License-Identifier: Apache-2.0
#include "bench/node/rdma/memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "bench/backends/nccl/errors.hpp"
#include "bench/node/cpus.hpp"
#include "lib/base/result.hpp"

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

// As MPI and NCCL do: a virtual machine's PCI bus is slow in strict order.
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
    if (auto done = clear(bytes_); !done) return done;
    auto* const begin = memory_.as<std::uint64_t>();
    std::memcpy(&address_, static_cast<const void*>(&begin), sizeof(begin));
    region_ = register_memory(hca_, address_, bytes_);
    if (region_ != nullptr) return {};
    return make_error(fmt::format("{} MiB of memory cannot be registered: {}{}", bytes_ >> 20U,
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
    // Whole pages of the GPU, of which a dma-buf is made.
    constexpr std::uint64_t kPage = 2UL << 20U;
    if (auto used = gpu_.use(); !used) return used;
    const auto whole = (bytes_ + kPage - 1) / kPage * kPage;
    if (auto taken = put(memory_, gpu_.allocate(whole)); !taken) return taken;
    address_ = memory_;
    errno = 0;
    region_ = as_dma_buf(whole);
    if (region_ == nullptr) region_ = register_memory(hca_, address_, bytes_);
    if (region_ != nullptr) return clear(bytes_);
    return make_error(
        fmt::format("memory of the GPU cannot be registered: {}; neither as a dma-buf nor by "
                    "nvidia_peermem",
                    errno_text(errno)));
  }

  [[nodiscard]] Result<void> fill(std::uint64_t seed) override {
    if (auto used = gpu_.use(); !used) return used;
    words_.resize(bytes_ / sizeof(std::uint64_t));
    fill_words(words_, seed);
    MUSTER_CUDA_TRY(cuda_, copy_in, memory_, words_.data(), bytes_, gpu_.stream());
    return wait();
  }

  [[nodiscard]] Result<void> clear(std::uint64_t bytes) override {
    auto done = gpu_.use();
    if (done) done = gpu_.poison(memory_, bytes);
    return done ? wait() : done;
  }

  [[nodiscard]] Result<std::optional<Difference>> compare(std::uint64_t seed,
                                                          std::uint64_t bytes) override {
    if (auto used = gpu_.use(); !used) return tl::unexpected(used.error());
    words_.resize(bytes / sizeof(std::uint64_t));
    MUSTER_CUDA_TRY(cuda_, copy_out, words_.data(), memory_, bytes, gpu_.stream());
    if (auto waited = wait(); !waited) return tl::unexpected(waited.error());
    return compare_words(words_, seed);
  }

 private:
  // Null where the driver, the library or the HCA does not have it.
  [[nodiscard]] ibv_mr* as_dma_buf(std::uint64_t whole) const {
    constexpr int kDmaBuf = 1;
    const auto& library = hca_.library();
    if (cuda_.range_handle.call == nullptr || library.reg_dmabuf == nullptr) return nullptr;
    int file = -1;
    if (cuda_.range_handle.call(&file, memory_, whole, kDmaBuf, 0) != cuda::kSuccess) {
      return nullptr;
    }
    auto* const region = library.reg_dmabuf(hca_.domain(), 0, bytes_, address_, file, kAccess);
    const int why = errno;
    ::close(file);
    errno = why;
    return region;
  }

  [[nodiscard]] Result<void> wait() {
    return gpu_.wait([] { return Result<void>(); });
  }

  Gpu& gpu_;
  cuda::Library cuda_;
  cuda::Pointer memory_ = 0;
  std::vector<std::uint64_t> words_;  // what copies read and write
};

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
  if (auto done = made->set_up(); !done) return tl::unexpected(done.error());
  return made;
}

Result<std::unique_ptr<RdmaMemory>> RdmaMemory::reserve_on(const Hca& hca, Gpu& gpu,
                                                           const cuda::Library& cuda,
                                                           std::uint64_t bytes) {
  auto made = std::make_unique<GpuMemory>(hca, gpu, cuda, bytes);
  if (auto done = made->set_up(); !done) return tl::unexpected(done.error());
  return made;
}

}  // namespace muster::bench::node
