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
  std::string name;
  Limit<BitsPerSecond> speed;
  bool rdma = false;

  MUSTER_FIELDS(
      EthernetInterface,
      MUSTER_FIELD(name, "interface or verbs name, a glob"),
      MUSTER_FIELD(speed, "expected speed; not set for any"),
      MUSTER_FIELD(rdma, "an Ethernet interface of any RDMA device will do, whatever its name"));
};

struct EthernetLimits {
  std::vector<EthernetInterface> interfaces;

  MUSTER_FIELDS(EthernetLimits, MUSTER_FIELD(interfaces, "interfaces that must be up"));
};

}  // namespace muster
