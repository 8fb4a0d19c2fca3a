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
  // Units with a process, or that systemd lists as active.
  MUSTER_FIELD(Fact<std::vector<std::string>>, active, "systemd units that are active");
  // The probe leaves it absent: systemd writes the units that have failed into no file.
  MUSTER_FIELD(Fact<std::vector<std::string>>, failed,
               "systemd units that are known to have failed");
  MUSTER_FIELD(Fact<std::vector<std::string>>, of_root,
               "active units whose first process is root's");
};

}  // namespace muster
