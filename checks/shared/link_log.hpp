// SPDX-License-Identifier: Apache-2.0
// What the kernel log says of InfiniBand links that went down.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lib/node/snapshot.hpp"

namespace muster::checks {

// How often each adapter lost its link since `begin_us`, by its verbs name, else by the name that
// the log uses; only adapters with an InfiniBand port where that is known, and otherwise
// interfaces called ib….
[[nodiscard]] std::map<std::string, std::uint64_t> link_downs_by_adapter(const Snapshot& snapshot,
                                                                         double begin_us);

}  // namespace muster::checks
