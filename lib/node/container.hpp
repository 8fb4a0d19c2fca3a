// SPDX-License-Identifier: Apache-2.0
// Facts of a node that a container hides. The container is never judged in their place.
#pragma once

#include <string_view>

#include "lib/node/snapshot.hpp"

namespace muster {

inline constexpr std::string_view kInContainer = "in a container, start it with --host";

// Replaces sections and facts that describe the container instead of the node by kInContainer.
void hide_container(Snapshot& snapshot);

}  // namespace muster
