// SPDX-License-Identifier: Apache-2.0
// The parts of a node that have their own identity, and the versions of its software.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster {

struct Snapshot;

struct Part {
  MUSTER_DESCRIBED(Part);
  MUSTER_FIELD(std::string, kind, "gpu, hca");
  MUSTER_FIELD(std::string, device, "gpu3, mlx5_ib0");
  MUSTER_FIELD(std::string, serial, "else the UUID of a GPU; the GUID of an HCA");
  MUSTER_FIELD(std::string, model, "");
  MUSTER_FIELD(std::string, firmware, "VBIOS or firmware version");
  MUSTER_UNLESS_EMPTY(std::string, address, "on the PCI bus") = {};
};

// GPUs and HCAs, but no virtual functions of other devices of the node.
[[nodiscard]] std::vector<Part> parts_of(const Snapshot& snapshot);

// The firmware versions of each kind of part.
[[nodiscard]] std::map<std::string, std::set<std::string>> firmware_of(
    const std::vector<Part>& parts);

// Versions by name: kernel, driver.
[[nodiscard]] ByName<std::string> stack_of(const Snapshot& snapshot);

}  // namespace muster
