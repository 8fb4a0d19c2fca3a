// SPDX-License-Identifier: Apache-2.0
// Files whose damage may leave a node healthy, each with the reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::e2e {

[[nodiscard]] bool may_stay_healthy(std::string_view path, std::string_view damage);
// Exceptions that must match a file that a run opens.
[[nodiscard]] std::vector<std::string> exception_patterns();

}  // namespace muster::e2e
