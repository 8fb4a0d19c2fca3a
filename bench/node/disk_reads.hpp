// SPDX-License-Identifier: Apache-2.0
// Reads of a disk past the page cache, many at a time, by the kernel's io_uring. Nothing is
// written.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::bench::node {

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
