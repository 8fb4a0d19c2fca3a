// SPDX-License-Identifier: Apache-2.0
// Which profile a node's hardware calls for, from facts alone and never from the network.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/load.hpp"

namespace muster {

using GpuIds = std::map<std::string, int>;  // vendor:device to how many are on the bus

// What recognition looks at; gathered from a snapshot by the caller. What is not set could not be
// seen: it makes no profile fit, and excludes none.
struct Hardware {
  std::optional<std::string> chassis_asset_tag;
  std::optional<std::string> dmi_vendor;
  std::optional<std::string> dmi_product;
  std::optional<GpuIds> gpu_pci_ids;
  std::optional<int> infiniband_hcas;  // on the bus, or RDMA devices that are not Ethernet
  std::optional<int> nvme_disks;
  std::optional<int> nvswitches;
  std::optional<int> cores;
  std::optional<double> memory_bytes;        // MemTotal
  std::optional<std::string> instance_size;  // as the cloud calls it
};

struct Recognised {
  std::string profile;  // "generic" when nothing matches or the evidence is ambiguous
  std::vector<std::string>
      evidence;  // "chassis asset tag says Azure", "8 x 10de:2330", "no profile matches …"
};

}  // namespace muster
