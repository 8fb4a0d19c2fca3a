// SPDX-License-Identifier: Apache-2.0
// The files that may be spoilt and leave a node healthy, each with the reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::e2e {

[[nodiscard]] bool may_stay_healthy(std::string_view path, std::string_view damage);
// Those that must match some file that a run opens.
[[nodiscard]] std::vector<std::string> exception_patterns();

}  // namespace muster::e2e
