// SPDX-License-Identifier: Apache-2.0
// The limits of the checks pci.* and topo.*: the devices on the bus, their links, and which of them
// are close to each other.
#pragma once

#include <string>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct PciDeviceLimits {
  MUSTER_DESCRIBED(PciDeviceLimits);
  MUSTER_FIELD(Limit<int>, nvswitches,
               "NVSwitches on the bus; GPUs and HCAs are counted by gpu.present and ib.present");
};

struct LinkLimit {
  MUSTER_DESCRIBED(LinkLimit);
  MUSTER_FIELD(Limit<Transfers>, speed, "per lane");
  MUSTER_FIELD(Limit<int>, width, "lanes");
};

enum class Unmeasurable { skip, unknown };
MUSTER_WORDS(Unmeasurable, "skip", "unknown");

struct PciLinkLimits {
  MUSTER_DESCRIBED(PciLinkLimits);
  MUSTER_FIELD(LinkLimit, gpu, "GPUs");
  MUSTER_FIELD(LinkLimit, hca, "InfiniBand HCAs");
  MUSTER_FIELD(Unmeasurable, unmeasurable,
               "outcome if the kernel reports Unknown: skip or unknown") = Unmeasurable::unknown;
};

struct PciErrorLimits {
  MUSTER_DESCRIBED(PciErrorLimits);
  MUSTER_FIELD(Limit<double>, correctable_warn_above_per_hour,
               "correctable errors per hour and device");
  MUSTER_FIELD(Seconds, window, "how far back") = {};
};

struct PciLimits {
  MUSTER_DESCRIBED(PciLimits);
  MUSTER_FIELD(PciDeviceLimits, devices, "");
  MUSTER_FIELD(PciLinkLimits, link, "");
  MUSTER_FIELD(PciErrorLimits, errors, "");
};

struct TopoNumaLimits {
  MUSTER_DESCRIBED(TopoNumaLimits);
  MUSTER_FIELD(ByName<int>, gpu, "PCI address to NUMA node");
  MUSTER_FIELD(ByName<int>, hca, "PCI address to NUMA node");
  MUSTER_FIELD(ByName<int>, nvme, "PCI address to NUMA node");
};

enum class Nearest { not_told, same_switch, same_numa };
MUSTER_WORDS(Nearest, "", "same_switch", "same_numa");

struct TopoPairingLimits {
  MUSTER_DESCRIBED(TopoPairingLimits);
  MUSTER_FIELD(ByName<std::string>, pairs, "PCI address of a GPU to that of its HCA");
  MUSTER_FIELD(Nearest, nearest, "same_switch or same_numa") = Nearest::not_told;
};

enum class NvlinkEnd { not_told, nvswitch, gpu };
MUSTER_WORDS(NvlinkEnd, "", "switch", "gpu");

struct TopoNvlinkLimits {
  MUSTER_DESCRIBED(TopoNvlinkLimits);
  MUSTER_FIELD(NvlinkEnd, ends_in,
               "other end of a GPU's NVLinks: switch or gpu") = NvlinkEnd::not_told;
  MUSTER_FIELD(Limit<int>, neighbours, "GPUs that each GPU is linked to directly");
  MUSTER_FIELD(ByName<Words>, pairs,
               "PCI address of a GPU to those of the GPUs that it is linked to directly");
};

struct TopoNcclFileLimits {
  MUSTER_DESCRIBED(TopoNcclFileLimits);
  MUSTER_FIELD(Limit<std::string>, path, "NCCL's topology file");
};

struct TopoLimits {
  MUSTER_DESCRIBED(TopoLimits);
  MUSTER_FIELD(TopoNumaLimits, numa, "");
  MUSTER_FIELD(TopoPairingLimits, pairing, "");
  MUSTER_FIELD(TopoNvlinkLimits, nvlink_matrix, "");
  MUSTER_FIELD(TopoNcclFileLimits, nccl_file, "");
};

}  // namespace muster
