// SPDX-License-Identifier: Apache-2.0
// A node's name in Slurm and the name of its host (NodeName and NodeHostname), which may differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::slurm {

inline constexpr std::string_view kNamesFormat = "%N|%n";

struct NodeName {
  std::string node, host;

  bool operator==(const NodeName&) const = default;
};

// The output of `sinfo -h -N -o kNamesFormat`, each node once.
[[nodiscard]] Result<std::vector<NodeName>> parse_names(std::string_view text);

// The node on `host`, which may be given with its domain or without. Never another host's node,
// whatever its name. An error if there is none, or more than one.
[[nodiscard]] Result<std::string> node_on(const std::vector<NodeName>& names,
                                          std::string_view host);

}  // namespace muster::slurm
