// SPDX-License-Identifier: Apache-2.0
// PCI base classes and subclasses of the devices that muster reads.
#pragma once

namespace muster::pci_class {

inline constexpr unsigned kNvidia = 0x10de;
inline constexpr unsigned kAmd = 0x1002;

inline constexpr unsigned kNetworkBase = 0x02;  // the upper half of every network class
inline constexpr unsigned kNvme = 0x0108;
inline constexpr unsigned kEthernet = 0x0200;
inline constexpr unsigned kInfiniband = 0x0207;
inline constexpr unsigned kSerialInfiniband = 0x0c06;  // older HCAs
inline constexpr unsigned kVga = 0x0300;
inline constexpr unsigned kDisplay3d = 0x0302;
inline constexpr unsigned kOtherDisplay = 0x0380;  // one generation of AMD accelerators
inline constexpr unsigned kOtherBridge = 0x0680;   // NVIDIA's NVSwitch
inline constexpr unsigned kAccelerator = 0x1200;

// Whether a device is a GPU, as opposed to a board's graphics controller.
[[nodiscard]] constexpr bool is_gpu(unsigned class_and_subclass, unsigned vendor) {
  const bool display = class_and_subclass == kVga || class_and_subclass == kDisplay3d ||
                       class_and_subclass == kOtherDisplay || class_and_subclass == kAccelerator;
  return display && (vendor == kNvidia || vendor == kAmd);
}

}  // namespace muster::pci_class
