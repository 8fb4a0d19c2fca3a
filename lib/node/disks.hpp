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
  Fact<std::string> firmware;
  Fact<std::string> state;  // of the controller: live, resetting, dead …
  Fact<std::uint64_t> size_bytes;
  Fact<bool> read_only;
  Fact<std::string> address;    // PCI address
  Fact<double> link_speed_gts;  // of its PCIe link
  Fact<unsigned> link_width;

  MUSTER_FIELDS(Nvme,
                MUSTER_FIELD(name, "namespace, as nvme0n1"),
                MUSTER_FIELD(controller, "controller, as nvme0"),
                MUSTER_FIELD(model, "model"),
                MUSTER_FIELD(firmware, "revision of the firmware"),
                MUSTER_FIELD(state, "state of the controller: live, resetting, dead"),
                MUSTER_FIELD(size_bytes, "size"),
                MUSTER_FIELD(read_only, "the kernel allows reads only"),
                MUSTER_FIELD(address, "PCI address of the controller"),
                MUSTER_FIELD(link_speed_gts, "speed of its PCIe link in GT/s"),
                MUSTER_FIELD(link_width, "lanes of its PCIe link"));
};

struct Raid {
  std::string name;  // md0
  Fact<std::string> level;
  Fact<std::string> state;  // array_state: clean, active, readonly, inactive …
  Fact<unsigned> disks;
  Fact<unsigned> degraded;  // missing members; raid0 has no such file: absent

  MUSTER_FIELDS(Raid,
                MUSTER_FIELD(name, "array, as md0"),
                MUSTER_FIELD(level, "raid0, raid1 …"),
                MUSTER_FIELD(state, "array_state of the kernel"),
                MUSTER_FIELD(disks, "members the array should have"),
                MUSTER_FIELD(degraded, "members missing"));
};

// A block device on which the data of others lies: a loop device, or one of the device mapper.
struct StackedDevice {
  std::string name;             // loop3, dm-5
  std::string file;             // of a loop device: the disk image; empty for none
  std::vector<std::string> on;  // of the device mapper: the devices below it

  MUSTER_FIELDS(StackedDevice,
                MUSTER_FIELD(name, "as loop3 or dm-5"),
                MUSTER_FIELD(file, "disk image of a loop device; empty for none"),
                MUSTER_FIELD(on, "devices below one of the device mapper"));
};

struct Disks {
  std::vector<Nvme> nvme;                     // local namespaces (PCIe), not fabrics
  std::vector<std::string> dead_controllers;  // nvme controllers without any namespace: their names
  std::vector<Raid> raid;
  Fact<std::vector<StackedDevice>> stacked;

  MUSTER_FIELDS(Disks,
                MUSTER_FIELD(nvme, "local NVMe namespaces"),
                MUSTER_FIELD(dead_controllers, "NVMe controllers without a namespace"),
                MUSTER_FIELD(raid, "md arrays"),
                MUSTER_FIELD(stacked, "loop devices in use, and those of the device mapper"));
};

}  // namespace muster
