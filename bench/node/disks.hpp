// SPDX-License-Identifier: Apache-2.0
// The NVMe disks inside this node.
#pragma once

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

// By name. Those over a network, and those without a medium, are left out.
[[nodiscard]] Result<std::vector<LocalDisk>> local_disks(const Root& root);

}  // namespace muster::bench::node
