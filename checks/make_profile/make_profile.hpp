// SPDX-License-Identifier: Apache-2.0
// Makes a profile from healthy nodes of one kind: the values of most nodes become the expected
// ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/node/snapshot.hpp"

namespace muster::app {

struct MadeProfile {
  std::string yaml;                  // a complete profile on top of defaults.yaml
  std::vector<std::string> missing;  // keys that are unknown, or differ between nodes
};

[[nodiscard]] MadeProfile make_profile(std::string_view name, const std::vector<Snapshot>& nodes);

// The number of compute GPUs on the bus; nothing if the bus was not observed.
[[nodiscard]] std::optional<int> gpu_count(const Snapshot& node);

}  // namespace muster::app
