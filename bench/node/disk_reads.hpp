// SPDX-License-Identifier: Apache-2.0
// Reads of a disk past the page cache, many at a time, by the kernel's io_uring. Nothing is
// written.
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

// The disks of this node, by name. Disks over a network, and those without a medium, are left out.
[[nodiscard]] Result<std::vector<LocalDisk>> local_disks(const Root& root);

struct ReadPlan {
  std::string path;         // a block device or a file
  std::uint64_t size = 0;   // bytes of it that may be read
  std::uint32_t block = 0;  // bytes of a read; a multiple of 4096
  unsigned depth = 1;       // reads under way at a time
  bool random = false;      // else from the beginning on, and again from there
  std::chrono::duration<double> time{1};
};

struct ReadOutcome {
  std::vector<double> bytes_per_second;  // of each tenth of the time
  std::uint64_t reads = 0;
  std::uint64_t failed = 0;   // that the disk answered with an error, or with less than asked
  std::string first_failure;  // where, and why
};

// An error where nothing could be read at all: no permission, no io_uring.
[[nodiscard]] Result<ReadOutcome> read_disk(const ReadPlan& plan);

}  // namespace muster::bench::node
