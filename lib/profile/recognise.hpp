// SPDX-License-Identifier: Apache-2.0
// Which profile a node's hardware calls for, from facts alone and never from the network.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/load.hpp"

namespace muster {

// What recognition looks at; gathered from a snapshot by the caller.
struct Hardware {
  std::string chassis_asset_tag;
  std::string dmi_vendor;
  std::map<std::string, int> gpu_pci_ids;  // vendor:device to how many are on the bus
  int infiniband_hcas = 0;  // on the bus, or RDMA devices that are not Ethernet: the larger number
  int cores = 0;
  double memory_bytes = 0;  // MemTotal
};

struct Recognised {
  std::string profile;  // "generic" when nothing matches or the evidence is ambiguous
  std::vector<std::string>
      evidence;  // "chassis asset tag says Azure", "8 x 10de:2330", "no profile matches …"
};

[[nodiscard]] Result<Recognised> recognise(const ProfileSources& sources, const Hardware& hardware);

}  // namespace muster
