// SPDX-License-Identifier: Apache-2.0
// Chooses the profile for a node from facts about its hardware, never from the network.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/load.hpp"

namespace muster {

using GpuIds = std::map<std::string, int>;  // vendor:device to the count on the bus

// The facts for recognition, which the caller takes from a snapshot. A fact that is not set could
// not be observed: it neither matches nor excludes a profile.
struct Hardware {
  std::optional<std::string> chassis_asset_tag;
  std::optional<std::string> dmi_vendor;
  std::optional<std::string> dmi_product;
  std::optional<GpuIds> gpu_pci_ids;
  std::optional<int> infiniband_hcas;  // on the bus, or RDMA devices other than Ethernet
  std::optional<int> nvme_disks;
  std::optional<int> nvswitches;
  std::optional<int> cores;
  std::optional<double> memory_bytes;        // MemTotal
  std::optional<std::string> instance_size;  // the cloud's name for it
};

struct Recognised {
  std::string profile;                // "generic" if no profile matches, or several do
  std::vector<std::string> evidence;  // "8 x 10de:2330", "no profile matches"
};

}  // namespace muster
