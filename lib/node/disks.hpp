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
  MUSTER_DESCRIBED(Nvme);
  MUSTER_FIELD(std::string, name, "namespace, as nvme0n1");
  MUSTER_FIELD(std::string, controller, "controller, as nvme0");
  MUSTER_FIELD(Fact<std::string>, model, "model");
  MUSTER_FIELD(Fact<std::string>, firmware, "revision of the firmware");
  MUSTER_FIELD(Fact<std::string>, state, "state of the controller: live, resetting, dead");
  MUSTER_FIELD(Fact<std::uint64_t>, size_bytes, "size");
  MUSTER_FIELD(Fact<bool>, read_only, "the kernel allows reads only");
  MUSTER_FIELD(Fact<std::string>, address, "PCI address of the controller");
  MUSTER_FIELD(Fact<double>, link_speed_gts, "speed of its PCIe link in GT/s");
  MUSTER_FIELD(Fact<unsigned>, link_width, "lanes of its PCIe link");
};

struct Raid {
  MUSTER_DESCRIBED(Raid);
  MUSTER_FIELD(std::string, name, "array, as md0");
  MUSTER_FIELD(Fact<std::string>, level, "raid0, raid1 …");
  MUSTER_FIELD(Fact<std::string>, state, "array_state of the kernel");
  MUSTER_FIELD(Fact<unsigned>, disks, "members the array should have");
  MUSTER_FIELD(Fact<unsigned>, degraded, "members missing; absent for raid0");
};

// A block device on top of another one or a file: a loop device, or one of the device mapper.
struct StackedDevice {
  MUSTER_DESCRIBED(StackedDevice);
  MUSTER_FIELD(std::string, name, "as loop3 or dm-5");
  MUSTER_FIELD(std::string, file, "disk image of a loop device; empty for none");
  MUSTER_FIELD(std::vector<std::string>, on, "devices below it");
};

struct Disks {
  MUSTER_DESCRIBED(Disks);
  MUSTER_FIELD(std::vector<Nvme>, nvme, "local NVMe namespaces, without fabrics");
  MUSTER_FIELD(std::vector<std::string>, dead_controllers, "NVMe controllers without a namespace");
  MUSTER_FIELD(std::vector<Raid>, raid, "md arrays");
  MUSTER_FIELD(Fact<std::vector<StackedDevice>>, stacked,
               "loop devices in use and devices of the device mapper");
};

}  // namespace muster
