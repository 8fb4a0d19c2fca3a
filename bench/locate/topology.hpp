// SPDX-License-Identifier: Apache-2.0
// Which leaf switch each node hangs from, as a file says.
#pragma once

#include <string_view>

#include "bench/locate/measurer.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::locate {

// Slurm's topology.conf ("SwitchName=leaf0 Nodes=gpu-[01-16]"), or plain lines "leaf0 gpu-[01-16]".
// Sets the leaf switches of `nodes` and the switches above those; nodes that are not among them are
// passed over, and a node that no line names has no leaf switch. An error names `file`, the line,
// and what is wrong.
[[nodiscard]] Result<void> set_topology(Nodes& nodes, std::string_view text, std::string_view file);

}  // namespace muster::bench::locate
