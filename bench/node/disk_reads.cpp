// SPDX-License-Identifier: Apache-2.0
#include "bench/node/disk_reads.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>

#include "bench/node/cpus.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"

namespace muster::bench::node {
namespace {

Error failed(std::string_view what) {
  return {.message = fmt::format("{}: {}", what, std::strerror(errno))};
}

// A part of memory that is shared with the kernel.
class Shared {
 public:
  Shared() = default;
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  ~Shared() {
    if (memory_ != nullptr) ::munmap(memory_, bytes_);
  }

  [[nodiscard]] bool map(int ring, std::size_t bytes, std::uint64_t what) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                          static_cast<off_t>(what));
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast,performance-no-int-to-ptr): the macro's
    if (memory == MAP_FAILED) return false;
    memory_ = memory;
    bytes_ = bytes;
    return true;
  }

  template <class T>
  [[nodiscard]] T* at(std::uint32_t offset) const {
    return reinterpret_cast<T*>(static_cast<char*>(memory_) + offset);
  }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// The kernel's two queues: what is asked for, and what has come.
class Ring {
 public:
  [[nodiscard]] Result<void> open(unsigned depth) {
    ring_ = Descriptor(static_cast<int>(::syscall(SYS_io_uring_setup, depth, &parameters_)));
    if (!ring_.is_open()) return tl::unexpected(failed("io_uring_setup"));
    const auto& asked = parameters_.sq_off;
    const auto& came = parameters_.cq_off;
    const bool mapped =
        asked_.map(ring_.get(), asked.array + parameters_.sq_entries * sizeof(std::uint32_t),
                   IORING_OFF_SQ_RING) &&
        came_.map(ring_.get(), came.cqes + parameters_.cq_entries * sizeof(io_uring_cqe),
                  IORING_OFF_CQ_RING) &&
        entries_.map(ring_.get(), parameters_.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
    if (!mapped) return tl::unexpected(failed("map the queues of io_uring"));
    return {};
  }

  // Places one read; `submit` hands it to the kernel.
  void read(int file, void* into, std::uint32_t bytes, std::uint64_t offset, std::uint64_t tag) {
    const auto& offsets = parameters_.sq_off;
    const auto mask = *asked_.at<std::uint32_t>(offsets.ring_mask);
    std::atomic_ref tail(*asked_.at<std::uint32_t>(offsets.tail));
    const auto place = tail.load(std::memory_order_relaxed);
    auto& entry = entries_.at<io_uring_sqe>(0)[place & mask];
    std::memset(&entry, 0, sizeof entry);
    entry.opcode = IORING_OP_READ;
    entry.fd = file;
    entry.addr = reinterpret_cast<std::uint64_t>(into);
    entry.len = bytes;
    entry.off = offset;
    entry.user_data = tag;
    asked_.at<std::uint32_t>(offsets.array)[place & mask] = place & mask;
    tail.store(place + 1, std::memory_order_release);
    ++placed_;
  }

  // Hands over what was placed, and waits until at least one read has come.
  [[nodiscard]] Result<void> submit_and_wait() {
    for (;;) {
      const auto taken = ::syscall(SYS_io_uring_enter, ring_.get(), placed_, 1U,
                                   IORING_ENTER_GETEVENTS, nullptr, 0UL);
      if (taken >= 0) {
        placed_ -= static_cast<unsigned>(taken);
        return {};
      }
      if (errno != EINTR) return tl::unexpected(failed("io_uring_enter"));
    }
  }

  // Calls visit(tag, result) for each that has come.
  template <class Visit>
  void each_come(const Visit& visit) {
    const auto& offsets = parameters_.cq_off;
    const auto mask = *came_.at<std::uint32_t>(offsets.ring_mask);
    std::atomic_ref head(*came_.at<std::uint32_t>(offsets.head));
    const std::atomic_ref tail(*came_.at<std::uint32_t>(offsets.tail));
    auto at = head.load(std::memory_order_relaxed);
    const auto end = tail.load(std::memory_order_acquire);
    for (; at != end; ++at) {
      const auto& entry = came_.at<io_uring_cqe>(offsets.cqes)[at & mask];
      visit(entry.user_data, entry.res);
    }
    head.store(at, std::memory_order_release);
  }

 private:
  io_uring_params parameters_{};
  Descriptor ring_;
  Shared asked_, came_, entries_;
  unsigned placed_ = 0;
};

class Reading {
 public:
  Reading(const ReadPlan& plan, int file, FreshMemory buffers)
      : plan_(plan), file_(file), buffers_(std::move(buffers)), offsets_(plan.depth) {}

  Result<ReadOutcome> run() {
    if (auto opened = ring_.open(plan_.depth); !opened) return tl::unexpected(opened.error());
    for (unsigned tag = 0; tag < plan_.depth; ++tag) ask(tag);
    constexpr int kSlices = 10;
    for (int slice = 0; slice < kSlices; ++slice) {
      const auto begin = Clock::now();
      const auto end = begin + std::chrono::duration_cast<Clock::duration>(plan_.time / kSlices);
      bytes_ = 0;
      bool last = false;
      while (!last) {
        if (auto waited = ring_.submit_and_wait(); !waited) return tl::unexpected(waited.error());
        last = Clock::now() >= end;
        ring_.each_come([&](std::uint64_t tag, std::int32_t result) { take(tag, result, true); });
      }
      const std::chrono::duration<double> took = Clock::now() - begin;
      outcome_.bytes_per_second.push_back(static_cast<double>(bytes_) / took.count());
    }
    return finish();
  }

 private:
  void ask(std::uint64_t tag) {
    const auto blocks = plan_.size / plan_.block;
    const auto at = plan_.random ? random_() % blocks : next_++ % blocks;
    offsets_[tag] = at * plan_.block;
    ring_.read(file_, buffers_.as<char>() + tag * plan_.block, plan_.block, offsets_[tag], tag);
    ++under_way_;
  }

  void take(std::uint64_t tag, std::int32_t result, bool ask_again) {
    --under_way_;
    ++outcome_.reads;
    if (result == static_cast<std::int32_t>(plan_.block)) {
      bytes_ += plan_.block;
    } else if (++outcome_.failed == 1) {
      outcome_.first_failure =
          fmt::format("at byte {}: {}", offsets_[tag],
                      result < 0 ? std::strerror(-result)
                                 : fmt::format("{} of {} bytes", result, plan_.block).c_str());
    }
    if (ask_again) ask(tag);
  }

  // The buffers go away only when the kernel is done with them.
  Result<ReadOutcome> finish() {
    while (under_way_ > 0) {
      if (auto waited = ring_.submit_and_wait(); !waited) return tl::unexpected(waited.error());
      ring_.each_come([&](std::uint64_t tag, std::int32_t result) { take(tag, result, false); });
    }
    return std::move(outcome_);
  }

  const ReadPlan& plan_;
  int file_;
  FreshMemory buffers_;
  std::vector<std::uint64_t> offsets_;
  Ring ring_;  // goes before the buffers
  ReadOutcome outcome_;
  std::uint64_t bytes_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t under_way_ = 0;
  std::mt19937_64 random_{7};
};

}  // namespace

Result<std::vector<LocalDisk>> local_disks(const Root& root) {
  TRY_ASSIGN(const auto names, root.list("/sys/block"));
  std::vector<LocalDisk> disks;
  for (const auto& name : names) {
    const auto folder = fmt::format("/sys/block/{}", name);
    const auto transport = root.read_line(fmt::format("{}/device/transport", folder));
    if (!name.starts_with("nvme") || !transport || *transport != "pcie") continue;
    const auto count = read_unsigned(root, fmt::format("{}/size", folder));
    if (!count || *count == 0) continue;
    constexpr std::uint64_t kSector = 512;  // whatever the disk's own is
    disks.push_back(
        {.name = name,
         .device = fmt::format("/dev/{}", name),
         .bytes = *count * kSector,
         .model = printable(
             root.read_line(fmt::format("{}/device/model", folder)).value_or(std::string()), 80)});
  }
  return disks;
}

Result<ReadOutcome> read_disk(const ReadPlan& plan) {
  const Descriptor file(::open(plan.path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!file.is_open()) return tl::unexpected(failed(fmt::format("open {}", plan.path)));
  if (plan.block == 0 || plan.size < plan.block) {
    return make_error(fmt::format("{} is smaller than one read", plan.path));
  }
  TRY_ASSIGN(auto buffers, FreshMemory::reserve(std::uint64_t{plan.depth} * plan.block));
  return Reading(plan, file.get(), std::move(buffers)).run();
}

}  // namespace muster::bench::node
