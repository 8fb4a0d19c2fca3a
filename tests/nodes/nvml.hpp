// SPDX-License-Identifier: Apache-2.0
// A node's GPUs as a scenario for the fake NVML, in agreement with the file tree: `muster check
// --root DIR --nvml DIR/nvml/libnvidia-ml.so.1`.
#pragma once

#include <functional>
#include <string_view>

#include "tests/fakes/nvml/scenario.hpp"
#include "tests/nodes/node.hpp"
#include "tests/nodes/tree.hpp"

namespace muster::nodes {

// In the tree of a node with GPUs: a link to the fake of its driver's branch.
inline constexpr std::string_view kNvmlLibrary = "nvml/libnvidia-ml.so.1";

[[nodiscard]] fakes::Scenario scenario_of(const NodeDescription& node);

// For faults by which NVML says something else than the files.
void change_scenario(Tree& tree, const std::function<void(fakes::Scenario&)>& change);

}  // namespace muster::nodes
