// SPDX-License-Identifier: Apache-2.0
// Facts about systemd's services.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Services {
  Fact<std::vector<std::string>> active;   // units with a process, or that systemd lists as active
  Fact<std::vector<std::string>> failed;   // of those, none; kept where systemd says so in a file
  Fact<std::vector<std::string>> of_root;  // active units whose first process is root's

  MUSTER_FIELDS(Services,
                MUSTER_FIELD(active, "systemd units that are active"),
                MUSTER_FIELD(failed, "systemd units that are known to have failed"),
                MUSTER_FIELD(of_root, "active units whose first process is root's"));
};

}  // namespace muster
