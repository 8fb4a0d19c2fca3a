// SPDX-License-Identifier: Apache-2.0
// host.disk: sequential and random reads of each local NVMe disk.
#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>

#include <array>
#include <cerrno>
#include <random>

#include "bench/node/host.hpp"
#include "bench/node/test.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"
#include "lib/report/finding.hpp"

namespace muster::bench::node {
namespace {

class DiskReader {
 public:
  DiskReader(const DiskReadPlan& plan, int file, FreshMemory buffers)
      : plan_(plan), file_(file), buffers_(std::move(buffers)), offsets_(plan.depth) {}
  DiskReader(const DiskReader&) = delete;
  DiskReader& operator=(const DiskReader&) = delete;
  ~DiskReader() {
    if (is_open_) ::io_uring_queue_exit(&ring_);
  }

  [[nodiscard]] Result<DiskReads> run() {
    if (const int code = ::io_uring_queue_init(plan_.depth, &ring_, 0); code < 0) {
      return os_error("start", "io_uring", -code);
    }
    is_open_ = true;
    for (unsigned tag = 0; tag < plan_.depth; ++tag) submit(tag);
    constexpr int kSlices = 10;
    for (int slice = 0; slice < kSlices; ++slice) {
      const auto begin = Clock::now();
      const auto end = begin + std::chrono::duration_cast<Clock::duration>(plan_.time / kSlices);
      bytes_ = 0;
      for (bool last = false; !last;) {
        TRY(wait());
        last = Clock::now() >= end;
        collect(true);
      }
      const std::chrono::duration<double> took = Clock::now() - begin;
      reads_.bytes_per_second.push_back(static_cast<double>(bytes_) / took.count());
    }
    // The kernel writes into the buffers until all reads have ended.
    while (pending_ > 0) {
      TRY(wait());
      collect(false);
    }
    return std::move(reads_);
  }

 private:
  void submit(std::uint64_t tag) {
    const auto blocks = plan_.size / plan_.block;
    const auto at = plan_.random ? random_() % blocks : next_++ % blocks;
    offsets_[tag] = at * plan_.block;
    auto* const entry = ::io_uring_get_sqe(&ring_);  // never null: a finished read made room
    ::io_uring_prep_read(entry, file_, buffers_.as<char>() + tag * plan_.block, plan_.block,
                         offsets_[tag]);
    entry->user_data = tag;
    ++pending_;
  }

  // Submits the prepared reads, and waits until at least one has ended.
  [[nodiscard]] Result<void> wait() {
    for (;;) {
      const int code = ::io_uring_submit_and_wait(&ring_, 1);
      if (code >= 0) return {};
      if (code != -EINTR) return os_error("wait for", "io_uring", -code);
    }
  }

  void collect(bool submit_more) {
    io_uring_cqe* entry = nullptr;
    while (::io_uring_peek_cqe(&ring_, &entry) == 0) {
      const auto tag = entry->user_data;
      const auto result = entry->res;
      ::io_uring_cqe_seen(&ring_, entry);
      --pending_;
      ++reads_.reads;
      if (result == static_cast<std::int32_t>(plan_.block)) {
        bytes_ += plan_.block;
      } else if (++reads_.failed == 1) {
        reads_.first_failure = fmt::format(
            "at byte {}: {}", offsets_[tag],
            result < 0 ? errno_text(-result) : fmt::format("{} of {} bytes", result, plan_.block));
      }
      if (submit_more) submit(tag);
    }
  }

  const DiskReadPlan& plan_;
  int file_;
  FreshMemory buffers_;
  std::vector<std::uint64_t> offsets_;
  io_uring ring_{};
  bool is_open_ = false;
  DiskReads reads_;
  std::uint64_t bytes_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t pending_ = 0;
  std::mt19937_64 random_{7};
};

struct ReadKind {
  std::string_view what, quantity, unit;
  std::uint32_t block;
  unsigned depth;
  bool random;
  double bytes_of_unit;
};

constexpr std::uint32_t kSmall = 4096;
constexpr std::array kReadKinds{
    ReadKind{"sequential read", "sequential_read", "GB/s", 1U << 20U, 32, false, 1e9},
    ReadKind{"random read of 4 KiB", "random_read", "kIOPS", kSmall, 128, true, 1e3 * kSmall}};

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
    constexpr std::uint64_t kSector = 512;  // the unit of `size`, not the disk's sector
    disks.push_back(
        {.name = name,
         .device = fmt::format("/dev/{}", name),
         .bytes = *count * kSector,
         .model = printable(
             root.read_line(fmt::format("{}/device/model", folder)).value_or(std::string()), 80)});
  }
  return disks;
}

Result<DiskReads> read_disk(const DiskReadPlan& plan) {
  const Descriptor file(::open(plan.path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!file.is_open()) return os_error("open", plan.path, errno);
  if (plan.block == 0 || plan.size < plan.block) {
    return make_error("{} is smaller than one read", plan.path);
  }
  TRY_ASSIGN(auto buffers, FreshMemory::reserve(std::uint64_t{plan.depth} * plan.block));
  return DiskReader(plan, file.get(), std::move(buffers)).run();
}

Result<TestResult> run_host_disk(const TestInput& input) {
  const Root root;
  TRY_ASSIGN(auto disks, local_disks(root));
  if (disks.empty()) return make_missing("this node has no local NVMe disk");
  TestResult result;
  // The sysfs in a container lists all disks of the node, also those without a device file there.
  if (read_container(root)) {
    const auto is_hidden = [&](const LocalDisk& disk) { return !root.exists(disk.device); };
    const auto hidden = std::erase_if(disks, is_hidden);
    const auto why = fmt::format("this container hides {}", counted(hidden, "local NVMe disk"));
    if (disks.empty()) return make_missing(why);
    if (hidden > 0) result.findings.push_back(make_finding("", "node", Outcome::skip, why));
  }
  const auto share = input.time / static_cast<double>(disks.size() * kReadKinds.size());
  std::vector<Series> series;
  for (const auto& kind : kReadKinds) {
    series.push_back({.what = std::string(kind.what),
                      .quantity = std::string(kind.quantity),
                      .unit = std::string(kind.unit),
                      .tolerance = 0.1,
                      .size_bytes = kind.block});
  }
  for (const auto& disk : disks) {
    for (std::size_t i = 0; i < kReadKinds.size(); ++i) {
      const auto& kind = kReadKinds[i];
      const auto reads = read_disk({.path = disk.device,
                                    .size = disk.bytes,
                                    .block = kind.block,
                                    .depth = kind.depth,
                                    .random = kind.random,
                                    .time = share});
      if (!reads) {
        result.findings.push_back(unjudged(disk.name, reads.error().message));
        break;  // the other kind would fail the same way
      }
      if (reads->failed > 0) {
        result.findings.push_back(
            broken(disk.name, fmt::format("{} of {} reads failed, the first {}", reads->failed,
                                          reads->reads, reads->first_failure)));
      }
      std::vector<double> rates;
      for (const double rate : reads->bytes_per_second) rates.push_back(rate / kind.bytes_of_unit);
      series[i].add(disk.name, rates).group = disk.model;
    }
  }
  for (auto& each : series) result.add(std::move(each));
  return result;
}

}  // namespace muster::bench::node
