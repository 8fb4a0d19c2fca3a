// SPDX-License-Identifier: Apache-2.0
// Ids of runs and operations.
#pragma once

#include <string>

namespace muster {

// A random UUID that begins with the time (version 7), so that ids sort by it.
[[nodiscard]] std::string make_uuid();

}  // namespace muster
