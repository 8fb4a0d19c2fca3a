// SPDX-License-Identifier: Apache-2.0
// Which Ethernet interfaces must be up.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct EthernetInterface {
  MUSTER_DESCRIBED(EthernetInterface);
  MUSTER_FIELD(std::string, name, "interface or verbs name, a glob");
  MUSTER_FIELD(Limit<BitsPerSecond>, speed, "expected speed; not set for any");
  MUSTER_FIELD(bool, rdma,
               "an Ethernet interface of any RDMA device will do, whatever its name") = false;
};

struct EthernetLimits {
  MUSTER_DESCRIBED(EthernetLimits);
  MUSTER_FIELD(std::vector<EthernetInterface>, interfaces, "interfaces that must be up");
};

}  // namespace muster
