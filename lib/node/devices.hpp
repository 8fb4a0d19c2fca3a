// SPDX-License-Identifier: Apache-2.0
// Facts about devices on the PCI bus, and about RDMA devices from sysfs and the verbs library.
#pragma once

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
MUSTER_WORDS(PciKind, "gpu", "nvswitch", "hca", "ethernet", "nvme", "bridge");

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

inline constexpr unsigned kNvidiaVendor = 0x10de;

[[nodiscard]] inline bool is_nvidia_gpu(const PciDevice& device) {
  return device.kind == PciKind::gpu && device.vendor == kNvidiaVendor;
}

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
  MUSTER_FIELD(Fact<std::uint64_t>, replays, "replays of its PCI link");
  MUSTER_FIELD(Fact<std::vector<AmdSensor>>, temperatures, "temperatures, by sensor");
  MUSTER_FIELD(Fact<double>, power_w, "power drawn");
  MUSTER_FIELD(Fact<double>, power_cap_w, "limit in force");
  MUSTER_FIELD(Fact<double>, power_cap_default_w, "limit by default");
};

struct Pci {
  MUSTER_DESCRIBED(Pci);
  MUSTER_FIELD(std::vector<PciDevice>, devices, "relevant devices, by address");
  MUSTER_FIELD(std::vector<AmdGpu>, amd_gpus, "GPUs of the amdgpu driver, by address");
};

// By name. Unreadable if the folder of the counters cannot be listed.
using IbCounters = Fact<ByName<Fact<std::uint64_t>>>;

struct IbPort {
  MUSTER_DESCRIBED(IbPort);
  MUSTER_FIELD(unsigned, number, "port number") = 1;
  MUSTER_FIELD(std::string, link_layer, "InfiniBand or Ethernet");
  MUSTER_FIELD(Fact<unsigned>, state, "1 DOWN, 2 INIT, 3 ARMED, 4 ACTIVE, 5 ACTIVE_DEFER");
  MUSTER_FIELD(Fact<unsigned>, physical_state,
               "2 Polling, 3 Disabled, 5 LinkUp, 6 LinkErrorRecovery");
  MUSTER_FIELD(Fact<double>, rate_gbps, "Gb/s");
  MUSTER_FIELD(Fact<unsigned>, width, "lanes");
  // SDR … NDR, XDR; absent if the kernel reports none.
  MUSTER_FIELD(Fact<std::string>, speed, "lane speed: SDR … HDR, NDR, XDR");
  MUSTER_FIELD(Fact<unsigned>, lid, "local identifier, 0 when not assigned");
  MUSTER_FIELD(Fact<unsigned>, sm_lid, "subnet manager's identifier, 0 when none is known");
  // By index, up to the last that is not empty.
  MUSTER_FIELD(Fact<std::vector<unsigned>>, pkeys, "partition keys by index");
  MUSTER_FIELD(Fact<std::string>, gid0, "first GID");
  MUSTER_FIELD(IbCounters, counters, "port counters; they saturate");
  MUSTER_FIELD(IbCounters, hw_counters, "counters of the function");
  MUSTER_FIELD(ByName<std::uint64_t>, link_errors,
               "bits corrected and symbols lost on the link, as its network "
               "interface counts them (ethtool -S); empty if it does not");
};

struct Hca {
  MUSTER_DESCRIBED(Hca);
  MUSTER_FIELD(std::string, name, "verbs name");
  MUSTER_FIELD(Fact<std::string>, address, "PCI address");
  MUSTER_FIELD(Fact<std::string>, node_guid, "GUID");
  MUSTER_FIELD(Fact<std::string>, firmware, "firmware version");
  MUSTER_FIELD(Fact<std::string>, type, "hca_type: MT and the PCI device id in decimal");  // MT4129
  MUSTER_FIELD(Fact<std::string>, board, "PSID");
  MUSTER_FIELD(bool, virtual_function,
               "an SR-IOV function: its error counters prove nothing") = false;
  MUSTER_FIELD(Fact<std::vector<std::string>>, netdevs, "its network interfaces");
  MUSTER_FIELD(Fact<std::vector<IbPort>>, ports, "ports");
};

struct Infiniband {
  MUSTER_DESCRIBED(Infiniband);
  MUSTER_FIELD(std::vector<Hca>, hcas, "RDMA devices, including Ethernet ones, by PCI address");
  MUSTER_FIELD(Fact<std::string>, umad,
               "version of ib_umad's interface; absent if it is not loaded");
};

struct VerbsPort {
  MUSTER_DESCRIBED(VerbsPort);
  MUSTER_FIELD(unsigned, number, "port number") = 1;
  MUSTER_FIELD(unsigned, state, "as sysfs") = 0;
  MUSTER_FIELD(unsigned, physical_state, "as sysfs") = 0;
  MUSTER_FIELD(unsigned, active_mtu_bytes, "bytes") = 0;
  MUSTER_FIELD(unsigned, width, "lanes") = 0;
  MUSTER_FIELD(unsigned, active_speed,
               "1 SDR, 2 DDR, 4 QDR, 8 FDR10, 16 FDR, 32 EDR, 64 HDR, 128 NDR") = 0;
  MUSTER_FIELD(unsigned, lid, "local identifier") = 0;
  MUSTER_FIELD(unsigned, sm_lid, "subnet manager's identifier") = 0;
};

struct VerbsDevice {
  MUSTER_DESCRIBED(VerbsDevice);
  MUSTER_FIELD(std::string, name, "verbs name");
  MUSTER_FIELD(Fact<std::vector<VerbsPort>>, ports, "ports, once the device was opened");
  MUSTER_FIELD(Fact<bool>, registers, "a page could be registered");
};

struct Verbs {
  MUSTER_DESCRIBED(Verbs);
  MUSTER_FIELD(std::vector<VerbsDevice>, devices, "devices that libibverbs lists, by name");
};

}  // namespace muster
