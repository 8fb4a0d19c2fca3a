// SPDX-License-Identifier: Apache-2.0
// JSON values as text and back. The templates of nlohmann's library are compiled here, once.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// An error names the line and column, and what was expected there.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text);

// One line, without its end. Invalid UTF-8 is replaced.
[[nodiscard]] std::string json_line(const nlohmann::json& json);

}  // namespace muster
