// SPDX-License-Identifier: Apache-2.0
// Facts about local NVMe disks and md arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Nvme {
  std::string name;        // nvme0n1: one namespace
  std::string controller;  // nvme0
  Fact<std::string> model;
  Fact<std::string> state;  // of the controller: live, resetting, dead …
  Fact<std::uint64_t> size_bytes;
  Fact<bool> read_only;
  Fact<std::string> address;  // PCI address

  template <class Self = Nvme>
  static constexpr auto fields() {
    return std::tuple{
        field("name", &Self::name, "namespace, as nvme0n1"),
        field("controller", &Self::controller, "controller, as nvme0"),
        field("model", &Self::model, "model"),
        field("state", &Self::state, "state of the controller: live, resetting, dead"),
        field("size_bytes", &Self::size_bytes, "size"),
        field("read_only", &Self::read_only, "the kernel allows reads only"),
        field("address", &Self::address, "PCI address of the controller")};
  }

  bool operator==(const Nvme&) const = default;
};

struct Raid {
  std::string name;  // md0
  Fact<std::string> level;
  Fact<std::string> state;  // array_state: clean, active, readonly, inactive …
  Fact<unsigned> disks;
  Fact<unsigned> degraded;  // missing members; raid0 has no such file: absent

  template <class Self = Raid>
  static constexpr auto fields() {
    return std::tuple{field("name", &Self::name, "array, as md0"),
                      field("level", &Self::level, "raid0, raid1 …"),
                      field("state", &Self::state, "array_state of the kernel"),
                      field("disks", &Self::disks, "members the array should have"),
                      field("degraded", &Self::degraded, "members missing")};
  }

  bool operator==(const Raid&) const = default;
};

struct Disks {
  std::vector<Nvme> nvme;                     // local namespaces (PCIe), not fabrics
  std::vector<std::string> dead_controllers;  // nvme controllers without any namespace: their names
  std::vector<Raid> raid;

  template <class Self = Disks>
  static constexpr auto fields() {
    return std::tuple{
        field("nvme", &Self::nvme, "local NVMe namespaces"),
        field("dead_controllers", &Self::dead_controllers, "NVMe controllers without a namespace"),
        field("raid", &Self::raid, "md arrays")};
  }

  bool operator==(const Disks&) const = default;
};

}  // namespace muster
