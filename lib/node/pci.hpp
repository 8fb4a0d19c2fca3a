// SPDX-License-Identifier: Apache-2.0
// Facts about devices on the PCI bus.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct AerCounts {
  MUSTER_DESCRIBED(AerCounts);
  MUSTER_FIELD(std::uint64_t, fatal, "uncorrectable fatal errors") = 0;
  MUSTER_FIELD(std::uint64_t, non_fatal, "uncorrectable non-fatal errors") = 0;
  MUSTER_FIELD(std::uint64_t, correctable, "correctable errors") = 0;
};

enum class PciKind { gpu, nvswitch, hca, ethernet, nvme, bridge };

inline constexpr std::array<std::string_view, 6> kPciKinds{"gpu",      "nvswitch", "hca",
                                                           "ethernet", "nvme",     "bridge"};

constexpr const auto& json_words(PciKind /*type*/) { return kPciKinds; }

struct PciDevice {
  MUSTER_DESCRIBED(PciDevice);
  MUSTER_FIELD(std::string, address, "domain:bus:device.function");
  MUSTER_FIELD(PciKind, kind, "gpu, nvswitch, hca, ethernet, nvme or bridge") = PciKind::bridge;
  MUSTER_FIELD(unsigned, vendor, "PCI vendor id") = 0;
  MUSTER_FIELD(unsigned, device, "PCI device id") = 0;
  MUSTER_FIELD(std::string, driver, "bound driver; empty for none");
  MUSTER_FIELD(bool, virtual_function,
               "a virtual function of another device of this node; false in a guest") = false;
  MUSTER_FIELD(Fact<bool>, responding, "config space does not read all ones");
  MUSTER_FIELD(Fact<double>, link_speed_gts, "current speed in GT/s");
  MUSTER_FIELD(Fact<double>, link_speed_max_gts, "maximum speed in GT/s");
  MUSTER_FIELD(Fact<unsigned>, link_width, "current lanes");
  MUSTER_FIELD(Fact<unsigned>, link_width_max, "maximum lanes");
  MUSTER_FIELD(Fact<int>, numa_node, "sysfs numa_node; -1 unknown");
  MUSTER_FIELD(Fact<std::string>, local_cpus, "local_cpulist");
  MUSTER_FIELD(Fact<AerCounts>, aer, "advanced error reporting, totals since boot");
  MUSTER_FIELD(Fact<unsigned>, uncorrectable_status,
               "of HCAs: the AER register of uncorrectable errors; bits stay until cleared");
  MUSTER_FIELD(Fact<unsigned>, payload_bytes, "maximum payload in force");
  MUSTER_FIELD(Fact<unsigned>, payload_max_bytes, "maximum payload of the device");
  MUSTER_FIELD(Fact<unsigned>, acs_control,
               "control word of the ACS capability; absent without one");
  MUSTER_FIELD(std::vector<std::string>, upstream, "bridges above it, nearest last");
};

// Errors of one block of an AMD GPU.
struct RasCounts {
  MUSTER_DESCRIBED(RasCounts);
  MUSTER_FIELD(std::uint64_t, uncorrected, "uncorrectable errors since the driver was loaded") = 0;
  MUSTER_FIELD(std::uint64_t, corrected, "corrected errors since the driver was loaded") = 0;
};

// A temperature sensor of an AMD GPU.
struct AmdSensor {
  MUSTER_DESCRIBED(AmdSensor);
  MUSTER_FIELD(std::string, name, "edge, junction or mem");
  MUSTER_FIELD(double, now_c, "temperature") = 0;
  MUSTER_FIELD(Fact<double>, critical_c, "temperature at which the GPU slows down");
};

// Memory pages of an AMD GPU that were retired after errors.
struct AmdBadPages {
  MUSTER_DESCRIBED(AmdBadPages);
  MUSTER_FIELD(std::uint64_t, retired, "retired") = 0;
  MUSTER_FIELD(std::uint64_t, pending, "waiting to be retired") = 0;
  MUSTER_FIELD(std::uint64_t, failed, "could not be retired") = 0;
};

// Facts of the amdgpu driver in sysfs.
struct AmdGpu {
  MUSTER_DESCRIBED(AmdGpu);
  MUSTER_FIELD(std::string, address, "PCI address");
  MUSTER_FIELD(Fact<std::uint64_t>, memory_bytes, "its memory");
  MUSTER_FIELD(Fact<std::uint64_t>, memory_used_bytes, "memory in use");
  MUSTER_FIELD(Fact<ByName<RasCounts>>, ras, "errors by block (umc, gfx, sdma, xgmi_wafl …)");
  MUSTER_FIELD(Fact<AmdBadPages>, bad_pages, "memory pages that were retired after errors");
  MUSTER_FIELD(Fact<std::string>, vbios, "version");
  MUSTER_FIELD(Fact<std::string>, serial, "number of the chip (unique_id)");
  MUSTER_FIELD(Fact<std::string>, compute_partition,
               "SPX if the GPU is one device; DPX, QPX, CPX …");
  MUSTER_FIELD(Fact<std::string>, memory_partition, "NPS1 if its memory is one; NPS4 …");
  MUSTER_FIELD(Fact<std::string>, performance_level, "auto, or the clocks that were forced");
  MUSTER_FIELD(Fact<std::string>, hive,
               "id that the GPUs on its xGMI links share; absent without links");
  MUSTER_FIELD(Fact<unsigned>, utilisation, "percent");
  MUSTER_FIELD(Fact<std::uint64_t>, replays, "of its PCI link");
  MUSTER_FIELD(Fact<std::vector<AmdSensor>>, temperatures, "by sensor");
  MUSTER_FIELD(Fact<double>, power_w, "drawn");
  MUSTER_FIELD(Fact<double>, power_cap_w, "limit in force");
  MUSTER_FIELD(Fact<double>, power_cap_default_w, "limit by default");
};

struct Pci {
  MUSTER_DESCRIBED(Pci);
  MUSTER_FIELD(std::vector<PciDevice>, devices, "relevant devices, by address");
  MUSTER_FIELD(std::vector<AmdGpu>, amd_gpus, "GPUs of the amdgpu driver, by address");
};

}  // namespace muster
