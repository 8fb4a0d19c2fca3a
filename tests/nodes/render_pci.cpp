// SPDX-License-Identifier: Apache-2.0
// The PCI bus: one folder per function below sys/devices, as in the kernel, and the links in
// sys/bus/pci. Bridges are made for every function that names some. Configuration space has the
// header, the PCI Express capability with link and payload, and in extended space AER and ACS if
// the device has them: hwloc and lspci read the link from here only. Files of the amdgpu driver are
// in the folder of each of its GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>

#include "tests/nodes/parts.hpp"
#include "tests/nodes/render.hpp"

namespace muster::nodes {
namespace {

constexpr std::size_t kSize = 4096;
constexpr std::size_t kExpress = 0x60;
constexpr std::size_t kAer = 0x100;
constexpr std::size_t kAcs = 0x160;

class Space {
 public:
  void put(std::size_t at, std::size_t bytes, std::uint32_t value) {
    for (std::size_t i = 0; i < bytes; ++i) {
      bytes_.at(at + i) = static_cast<char>((value >> (8 * i)) & 0xffU);
    }
  }

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_ = std::string(kSize, '\0');
};

// 2.5 is 1, 5 is 2, 8 is 3, 16 is 4, 32 is 5, 64 is 6; 0 if the link is unknown.
std::uint32_t speed_code(double gts) {
  if (gts <= 0) return 0;
  if (gts < 8) return gts < 5 ? 1 : 2;
  return static_cast<std::uint32_t>(std::lround(std::log2(gts)));
}

std::uint32_t payload_code(unsigned bytes) {
  std::uint32_t code = 0;
  while (code < 5 && (128U << code) < bytes) ++code;
  return code;
}

void put_express(Space& space, const PciDescription& pci, unsigned port_type) {
  space.put(kExpress, 2, 0x0010);  // the capability's id, and no next one
  space.put(kExpress + 0x02, 2, 0x0002U | (port_type << 4));
  space.put(kExpress + 0x04, 4, 0x8000U | payload_code(pci.payload_max_bytes));
  space.put(kExpress + 0x08, 2, 0x5000U | (payload_code(pci.payload_bytes) << 5));
  space.put(kExpress + 0x0c, 4, speed_code(pci.max_speed_gts) | (pci.max_width << 4));
  space.put(kExpress + 0x12, 2, speed_code(pci.speed_gts) | (pci.width << 4));
}

// Extended capabilities form a list: id, version in bits 16 to 19, next in bits 20 to 31.
void put_extended(Space& space, const PciDescription& pci) {
  if (!pci.aer && !pci.acs) return;
  const std::uint32_t next = pci.acs ? kAcs : 0;
  // The list must begin at 0x100, so without AER it starts with a vendor-specific capability.
  space.put(kAer, 4, (pci.aer ? 0x0001U : 0x000bU) | (1U << 16) | (next << 20));
  if (!pci.aer) space.put(kAer + 4, 4, 0x0c0U << 20);
  if (!pci.acs) return;
  space.put(kAcs, 4, 0x000dU | (1U << 16));
  space.put(kAcs + 4, 2, 0x001f);
  space.put(kAcs + 6, 2, pci.acs_control);
}

// Hyper-V puts every device that it passes through below its own bus.
constexpr std::string_view kVmbus = "sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00";

unsigned bus_of(std::string_view address) {
  return static_cast<unsigned>(std::stoul(std::string(address.substr(5, 2)), nullptr, 16));
}

std::string speed_text(double gts) {
  return gts <= 0 ? "Unknown" : fmt::format("{:.1f} GT/s PCIe", gts);
}

void add_aer(const PciDescription& pci, std::string_view folder, Tree& tree) {
  tree.file(fmt::format("{}/aer_dev_correctable", folder),
            fmt::format("RxErr {0}\nBadTLP 0\nBadDLLP 0\nRollover 0\nTimeout 0\nNonFatalErr 0\n"
                        "CorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR {0}\n",
                        pci.correctable));
  const auto uncorrectable = [](std::uint64_t count, std::string_view total) {
    return fmt::format(
        "Undefined 0\nDLP 0\nSDES 0\nTLP 0\nFCP 0\nCmpltTO {0}\nCmpltAbrt 0\nUnxCmplt 0\nRxOF 0\n"
        "MalfTLP 0\nECRC 0\nUnsupReq 0\nACSViol 0\nUncorrIntErr 0\nBlockedTLP 0\n"
        "AtomicOpBlocked 0\nTLPBlockedErr 0\nPoisonTLPBlocked 0\n{1} {0}\n",
        count, total);
  };
  tree.file(fmt::format("{}/aer_dev_nonfatal", folder),
            uncorrectable(pci.non_fatal, "TOTAL_ERR_NONFATAL"));
  tree.file(fmt::format("{}/aer_dev_fatal", folder), uncorrectable(pci.fatal, "TOTAL_ERR_FATAL"));
}

void add_identity(const PciDescription& pci, std::string_view folder, Tree& tree) {
  attribute(tree, folder, "vendor", fmt::format("{:#06x}", pci.vendor));
  attribute(tree, folder, "device", fmt::format("{:#06x}", pci.device));
  attribute(tree, folder, "subsystem_vendor", fmt::format("{:#06x}", pci.vendor));
  attribute(tree, folder, "subsystem_device", "0x16c1");
  attribute(tree, folder, "class", fmt::format("{:#08x}", pci.class_code));
  attribute(tree, folder, "revision", "0xa1");
  attribute(tree, folder, "irq", "0");
  attribute(tree, folder, "enable", "1");
  attribute(tree, folder, "modalias",
            fmt::format("pci:v{:08X}d{:08X}sv{:08X}sd000016C1bc{:02x}sc{:02x}i{:02x}", pci.vendor,
                        pci.device, pci.vendor, pci.class_code >> 16, (pci.class_code >> 8) & 0xffU,
                        pci.class_code & 0xffU));
  std::string resource;
  for (int line = 0; line < 13; ++line) {
    resource.append("0x0000000000000000 0x0000000000000000 0x0000000000000000\n");
  }
  tree.file(fmt::format("{}/resource", folder), std::move(resource));
}

void add_link_and_place(const NodeDescription& node, const PciDescription& pci,
                        std::string_view folder, Tree& tree) {
  // A device that does not answer reads all ones, and the kernel masks six bits for the width.
  const unsigned width = pci.responding ? pci.width : 63;
  attribute(tree, folder, "current_link_speed", speed_text(pci.responding ? pci.speed_gts : 0));
  attribute(tree, folder, "max_link_speed", speed_text(pci.max_speed_gts));
  attribute(tree, folder, "current_link_width", width);
  attribute(tree, folder, "max_link_width", pci.max_width);
  attribute(tree, folder, "numa_node", pci.numa);
  const int local_to = pci.local_to == -2 ? pci.numa : pci.local_to;
  const auto cpus = online_cpus_of(node, local_to);
  attribute(tree, folder, "local_cpulist", cpu_list(cpus));
  attribute(tree, folder, "local_cpus", cpu_mask(cpus, node.cpus.size()));
}

void add_function(const NodeDescription& node, const PciDescription& pci, const std::string& folder,
                  const BridgeBuses& bridge, Tree& tree) {
  tree.file(fmt::format("{}/config", folder), config_space(pci, bridge));
  add_identity(pci, folder, tree);
  add_link_and_place(node, pci, folder, tree);
  if (pci.aer) add_aer(pci, folder, tree);
  if (!pci.driver.empty()) {
    const auto driver = fmt::format("sys/bus/pci/drivers/{}", pci.driver);
    tree.link(fmt::format("{}/driver", folder), driver);
    tree.link(fmt::format("{}/{}", driver, pci.address), folder);
    tree.link(fmt::format("{}/module", driver), fmt::format("sys/module/{}", pci.driver));
  }
  tree.link(fmt::format("{}/subsystem", folder), "sys/bus/pci");
  tree.link(fmt::format("sys/bus/pci/devices/{}", pci.address), folder);
}

// The last bus below each bridge, which hwloc and lspci need to connect the tree.
unsigned last_bus_below(const NodeDescription& node, std::string_view bridge) {
  unsigned last = 0;
  for (const auto* pci : functions_of(node)) {
    for (const auto& above : pci->bridges) {
      if (above == bridge) last = std::max(last, bus_of(pci->address));
    }
  }
  return last;
}

void add_bridges(const NodeDescription& node, const PciDescription& pci,
                 std::set<std::string>& made, Tree& tree) {
  constexpr std::array<unsigned, 3> kPortTypes{4, 5, 6};
  PciDescription bridge{.vendor = 0x1000,
                        .device = 0xc030,
                        .class_code = 0x060400,
                        .driver = "pcieport",
                        .numa = pci.numa,
                        .local_to = pci.local_to,
                        .speed_gts = 32,
                        .max_speed_gts = 32,
                        .width = 16,
                        .max_width = 16,
                        .payload_max_bytes = 512,
                        .aer = pci.aer,
                        .acs = pci.acs,
                        .acs_control = pci.acs_control};
  for (std::size_t i = 0; i < pci.bridges.size(); ++i) {
    bridge.address = pci.bridges[i];
    bridge.bridges.assign(pci.bridges.begin(),
                          pci.bridges.begin() + static_cast<std::ptrdiff_t>(i));
    if (!made.insert(bridge.address).second) continue;
    const auto& next = i + 1 < pci.bridges.size() ? pci.bridges[i + 1] : pci.address;
    const BridgeBuses buses{.primary = bus_of(bridge.address),
                            .secondary = bus_of(next),
                            .subordinate = last_bus_below(node, bridge.address),
                            .port_type = kPortTypes.at(std::min<std::size_t>(i, 2))};
    add_function(node, bridge, device_path(bridge), buses, tree);
  }
}

template <class T>
void known_attribute(Tree& tree, std::string_view folder, std::string_view name,
                     const Fact<T>& value) {
  if (value) attribute(tree, folder, name, *value);
}

void add_errors(const AmdGpu& gpu, const std::string& folder, Tree& tree) {
  if (gpu.ras) {
    for (const auto& [block, counts] : *gpu.ras) {
      tree.file(fmt::format("{}/ras/{}_err_count", folder, block),
                fmt::format("ue: {}\nce: {}\n", counts.uncorrected, counts.corrected));
    }
  }
  if (!gpu.bad_pages) return;
  std::string pages;
  const auto add = [&](std::uint64_t count, char state) {
    for (std::uint64_t i = 0; i < count; ++i) {
      pages.append(fmt::format("0x{:08x} : 0x00001000 : {}\n", 0x1000 * (i + 1), state));
    }
  };
  add(gpu.bad_pages->retired, 'R');
  add(gpu.bad_pages->pending, 'P');
  add(gpu.bad_pages->failed, 'F');
  tree.file(fmt::format("{}/ras/gpu_vram_bad_pages", folder), pages);
}

void add_sensors(const AmdGpu& gpu, const std::string& folder, Tree& tree) {
  const auto hwmon = fmt::format("{}/hwmon/hwmon3", folder);
  const auto scaled = [&](std::string_view name, const Fact<double>& value, double unit) {
    if (value) attribute(tree, hwmon, name, fmt::format("{:.0f}", *value * unit));
  };
  scaled("power1_input", gpu.power_w, 1e6);
  scaled("power1_cap", gpu.power_cap_w, 1e6);
  scaled("power1_cap_default", gpu.power_cap_default_w, 1e6);
  if (!gpu.temperatures) return;
  for (std::size_t i = 0; i < gpu.temperatures->size(); ++i) {
    const auto& sensor = gpu.temperatures->at(i);
    const auto name = [&](std::string_view what) { return fmt::format("temp{}_{}", i + 2, what); };
    attribute(tree, hwmon, name("label"), sensor.name);
    attribute(tree, hwmon, name("input"), fmt::format("{:.0f}", sensor.now_c * 1000));
    if (!sensor.critical_c) continue;
    attribute(tree, hwmon, name("crit"), fmt::format("{:.0f}", *sensor.critical_c * 1000));
  }
}

}  // namespace

std::string config_space(const PciDescription& pci, const BridgeBuses& bridge) {
  if (!pci.responding) {
    std::string all_ones(kSize, '\0');
    std::ranges::fill(all_ones, '\xff');
    return all_ones;
  }
  Space space;
  space.put(0x00, 2, pci.vendor);
  space.put(0x02, 2, pci.device);
  space.put(0x04, 2, 0x0406);
  space.put(0x06, 2, 0x0010);  // it has a list of capabilities
  space.put(0x08, 1, 0xa1);
  space.put(0x09, 3, pci.class_code);
  space.put(0x34, 1, kExpress);
  if (bridge.port_type != 0) {
    space.put(0x0e, 1, 0x01);
    space.put(0x18, 1, bridge.primary);
    space.put(0x19, 1, bridge.secondary);
    space.put(0x1a, 1, bridge.subordinate);
  } else {
    space.put(0x2c, 2, pci.vendor);
    space.put(0x2e, 2, 0x16c1);
  }
  put_express(space, pci, bridge.port_type);
  put_extended(space, pci);
  return space.take();
}

std::string device_path(const PciDescription& pci) {
  // The root complex is named by its domain and first bus, those of the topmost function.
  const auto root = (pci.bridges.empty() ? pci.address : pci.bridges.front()).substr(0, 7);
  std::string path = pci.vmbus_guid.empty()
                         ? fmt::format("sys/devices/pci{}", root)
                         : fmt::format("{}/{}/pci{}", kVmbus, pci.vmbus_guid, root);
  for (const auto& bridge : pci.bridges) path.append(fmt::format("/{}", bridge));
  return path.append(fmt::format("/{}", pci.address));
}

std::vector<const PciDescription*> functions_of(const NodeDescription& node) {
  std::vector<const PciDescription*> result;
  for (const auto& gpu : node.gpus) result.push_back(&gpu.pci);
  for (const auto& gpu : node.amd_gpus) result.push_back(&gpu.pci);
  for (const auto& hca : node.hcas) result.push_back(&hca.pci);
  for (const auto& disk : node.nvme) result.push_back(&disk.pci);
  return result;
}

void render_pci(const NodeDescription& node, Tree& tree) {
  tree.directory("sys/bus/pci/slots");
  std::set<std::string> made;
  for (const auto* pci : functions_of(node)) {
    add_bridges(node, *pci, made, tree);
    add_function(node, *pci, device_path(*pci), {}, tree);
  }
}

void render_amd(const NodeDescription& node, Tree& tree) {
  for (const auto& each : node.amd_gpus) {
    if (each.pci.driver != "amdgpu") continue;
    const auto& gpu = each.facts;
    const auto folder = device_path(each.pci);
    known_attribute(tree, folder, "mem_info_vram_total", gpu.memory_bytes);
    known_attribute(tree, folder, "mem_info_vram_used", gpu.memory_used_bytes);
    known_attribute(tree, folder, "vbios_version", gpu.vbios);
    known_attribute(tree, folder, "unique_id", gpu.serial);
    known_attribute(tree, folder, "current_compute_partition", gpu.compute_partition);
    known_attribute(tree, folder, "current_memory_partition", gpu.memory_partition);
    known_attribute(tree, folder, "power_dpm_force_performance_level", gpu.performance_level);
    known_attribute(tree, folder, "gpu_busy_percent", gpu.utilisation);
    known_attribute(tree, folder, "pcie_replay_count", gpu.replays);
    known_attribute(tree, fmt::format("{}/xgmi_hive_info", folder), "xgmi_hive_id", gpu.hive);
    add_errors(gpu, folder, tree);
    add_sensors(gpu, folder, tree);
  }
}

}  // namespace muster::nodes
