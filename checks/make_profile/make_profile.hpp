// SPDX-License-Identifier: Apache-2.0
// A profile made from healthy nodes of one kind: what most of them show is what each must be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/node/snapshot.hpp"

namespace muster::app {

struct MadeProfile {
  std::string yaml;                 // a whole profile on top of defaults.yaml
  std::vector<std::string> untold;  // what the nodes did not tell, or do not agree on
};

[[nodiscard]] MadeProfile make_profile(std::string_view name, const std::vector<Snapshot>& nodes);

}  // namespace muster::app
