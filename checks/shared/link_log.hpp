// SPDX-License-Identifier: Apache-2.0
// InfiniBand links that went down according to the kernel log.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lib/node/snapshot.hpp"

namespace muster::checks {

// How often each adapter lost its link since `begin_us`, by its verbs name or else by the name in
// the log. Only InfiniBand adapters, or, if the snapshot lacks the adapter, interfaces named ib….
[[nodiscard]] std::map<std::string, std::uint64_t> link_downs_by_adapter(const Snapshot& snapshot,
                                                                         double begin_us);

}  // namespace muster::checks
