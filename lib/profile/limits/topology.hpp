// SPDX-License-Identifier: Apache-2.0
// The limits of the checks topo.*: which devices are near which.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct TopoNumaLimits {
  std::map<std::string, int> gpu, hca, nvme;

  template <class Self = TopoNumaLimits>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(gpu, "PCI address to NUMA node"),
                      MUSTER_FIELD(hca, "PCI address to NUMA node"),
                      MUSTER_FIELD(nvme, "PCI address to NUMA node")};
  }
};

inline constexpr std::array<std::string_view, 3> kNearestWords{"", "same_switch", "same_numa"};

struct TopoPairingLimits {
  std::map<std::string, std::string> pairs;
  std::string nearest;

  template <class Self = TopoPairingLimits>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(pairs, "PCI address of a GPU to that of its HCA"),
                      MUSTER_CHOICE(nearest, kNearestWords, "same_switch or same_numa")};
  }
};

inline constexpr std::array<std::string_view, 3> kNvlinkEndWords{"", "switch", "gpu"};

struct TopoNvlinkLimits {
  std::string ends_in;
  Limit<int> neighbours;
  std::map<std::string, Words> pairs;

  template <class Self = TopoNvlinkLimits>
  static constexpr auto fields() {
    return std::tuple{
        MUSTER_CHOICE(ends_in, kNvlinkEndWords, "what the NVLinks of a GPU lead to: switch or gpu"),
        MUSTER_FIELD(neighbours, "other GPUs that the NVLinks of each GPU lead to directly"),
        MUSTER_FIELD(pairs,
                     "PCI address of a GPU to those of GPUs that it is linked with directly")};
  }
};

struct TopoNcclFileLimits {
  Limit<std::string> path;

  template <class Self = TopoNcclFileLimits>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(path, "NCCL's topology file")};
  }
};

struct TopoLimits {
  TopoNumaLimits numa;
  TopoPairingLimits pairing;
  TopoNvlinkLimits nvlink_matrix;
  TopoNcclFileLimits nccl_file;

  template <class Self = TopoLimits>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(numa, ""),
                      MUSTER_FIELD(pairing, ""),
                      MUSTER_FIELD(nvlink_matrix, ""),
                      MUSTER_FIELD(nccl_file, "")};
  }
};

}  // namespace muster
