// SPDX-License-Identifier: Apache-2.0
// What limits are made of. A limit that is not set is not judged, and the check says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace muster {

template <class T>
using Limit = std::optional<T>;
using Words = std::vector<std::string>;

}  // namespace muster
