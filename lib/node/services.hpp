// SPDX-License-Identifier: Apache-2.0
// Facts about systemd's services.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Services {
  MUSTER_DESCRIBED(Services);
  MUSTER_FIELD(Fact<std::vector<std::string>>, active,
               "systemd units that have a process or are listed as active");
  // The probe leaves it absent: systemd does not write failed units to a file.
  MUSTER_FIELD(Fact<std::vector<std::string>>, failed, "failed systemd units");
  MUSTER_FIELD(Fact<std::vector<std::string>>, of_root,
               "active units whose first process belongs to root");
};

}  // namespace muster
