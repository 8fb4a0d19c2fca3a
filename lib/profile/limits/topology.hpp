// SPDX-License-Identifier: Apache-2.0
// The limits of the checks topo.*: which devices are near which.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct TopoNumaLimits {
  std::map<std::string, int> gpu, hca, nvme;

  MUSTER_FIELDS(TopoNumaLimits,
                MUSTER_FIELD(gpu, "PCI address to NUMA node"),
                MUSTER_FIELD(hca, "PCI address to NUMA node"),
                MUSTER_FIELD(nvme, "PCI address to NUMA node"));
};

enum class Nearest { not_told, same_switch, same_numa };

inline constexpr std::array<std::string_view, 3> kNearestWords{"", "same_switch", "same_numa"};

constexpr std::span<const std::string_view> words_of(Nearest /*of*/) { return kNearestWords; }

struct TopoPairingLimits {
  std::map<std::string, std::string> pairs;
  Nearest nearest = Nearest::not_told;

  MUSTER_FIELDS(TopoPairingLimits,
                MUSTER_FIELD(pairs, "PCI address of a GPU to that of its HCA"),
                MUSTER_FIELD(nearest, "same_switch or same_numa"));
};

enum class NvlinkEnd { not_told, nvswitch, gpu };

inline constexpr std::array<std::string_view, 3> kNvlinkEndWords{"", "switch", "gpu"};

constexpr std::span<const std::string_view> words_of(NvlinkEnd /*of*/) { return kNvlinkEndWords; }

struct TopoNvlinkLimits {
  NvlinkEnd ends_in = NvlinkEnd::not_told;
  Limit<int> neighbours;
  std::map<std::string, Words> pairs;

  MUSTER_FIELDS(
      TopoNvlinkLimits,
      MUSTER_FIELD(ends_in, "what the NVLinks of a GPU lead to: switch or gpu"),
      MUSTER_FIELD(neighbours, "other GPUs that the NVLinks of each GPU lead to directly"),
      MUSTER_FIELD(pairs, "PCI address of a GPU to those of GPUs that it is linked with directly"));
};

struct TopoNcclFileLimits {
  Limit<std::string> path;

  MUSTER_FIELDS(TopoNcclFileLimits, MUSTER_FIELD(path, "NCCL's topology file"));
};

struct TopoLimits {
  TopoNumaLimits numa;
  TopoPairingLimits pairing;
  TopoNvlinkLimits nvlink_matrix;
  TopoNcclFileLimits nccl_file;

  MUSTER_FIELDS(TopoLimits,
                MUSTER_FIELD(numa, ""),
                MUSTER_FIELD(pairing, ""),
                MUSTER_FIELD(nvlink_matrix, ""),
                MUSTER_FIELD(nccl_file, ""));
};

}  // namespace muster
