// SPDX-License-Identifier: Apache-2.0
// Reads of a disk that bypass the page cache, many at a time, by io_uring. Nothing is written.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/base/root.hpp"

namespace muster::bench::node {

struct LocalDisk {
  std::string name;    // nvme0n1
  std::string device;  // /dev/nvme0n1
  std::uint64_t bytes = 0;
  std::string model;  // disks of one model are compared

  bool operator==(const LocalDisk&) const = default;
};

// Returns the local NVMe disks of this node, by name, without those over a network or without a
// medium.
[[nodiscard]] Result<std::vector<LocalDisk>> local_disks(const Root& root);

struct DiskReadPlan {
  std::string path;         // a block device or a file
  std::uint64_t size = 0;   // bytes of it to read from
  std::uint32_t block = 0;  // bytes of a read; a multiple of 4096
  unsigned depth = 1;       // concurrent reads
  bool random = false;      // else sequential, starting over at the end
  std::chrono::duration<double> time{1};
};

struct DiskReads {
  std::vector<double> bytes_per_second;  // in each tenth of the time
  std::uint64_t reads = 0;
  std::uint64_t failed = 0;   // that returned an error or too few bytes
  std::string first_failure;  // where, and why
};

// An error if the disk cannot be read at all, such as without permission or io_uring.
[[nodiscard]] Result<DiskReads> read_disk(const DiskReadPlan& plan);

}  // namespace muster::bench::node
