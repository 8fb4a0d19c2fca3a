// SPDX-License-Identifier: Apache-2.0
// The PCI bus: one folder per function below sys/devices, as in the kernel, and the links in
// sys/bus/pci. Bridges are made for every function that names some.
#include <fmt/format.h>

#include <array>
#include <set>

#include "tests/nodes/parts.hpp"
#include "tests/nodes/render.hpp"

namespace muster::nodes {
namespace {

// Hyper-V puts every device that it passes through below a bus of its own.
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
  attribute(tree, folder, "current_link_width", fmt::format("{}", width));
  attribute(tree, folder, "max_link_width", fmt::format("{}", pci.max_width));
  attribute(tree, folder, "numa_node", fmt::format("{}", pci.numa));
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

}  // namespace

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

}  // namespace muster::nodes
