// SPDX-License-Identifier: Apache-2.0
// The limits of the checks topo.*: which devices are close to each other.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct TopoNumaLimits {
  MUSTER_DESCRIBED(TopoNumaLimits);
  MUSTER_FIELD(ByName<int>, gpu, "PCI address to NUMA node");
  MUSTER_FIELD(ByName<int>, hca, "PCI address to NUMA node");
  MUSTER_FIELD(ByName<int>, nvme, "PCI address to NUMA node");
};

enum class Nearest { not_told, same_switch, same_numa };

inline constexpr std::array<std::string_view, 3> kNearestWords{"", "same_switch", "same_numa"};

constexpr std::span<const std::string_view> words_of(Nearest /*of*/) { return kNearestWords; }

struct TopoPairingLimits {
  MUSTER_DESCRIBED(TopoPairingLimits);
  MUSTER_FIELD(ByName<std::string>, pairs, "PCI address of a GPU to that of its HCA");
  MUSTER_FIELD(Nearest, nearest, "same_switch or same_numa") = Nearest::not_told;
};

enum class NvlinkEnd { not_told, nvswitch, gpu };

inline constexpr std::array<std::string_view, 3> kNvlinkEndWords{"", "switch", "gpu"};

constexpr std::span<const std::string_view> words_of(NvlinkEnd /*of*/) { return kNvlinkEndWords; }

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
