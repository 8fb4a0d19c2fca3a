// SPDX-License-Identifier: Apache-2.0
// JSON as text and back by nlohmann's library, whose templates are compiled here once.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// An error says at which line and column the text stops being JSON, and what was expected there.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text);

// In one line, without its end. What is no UTF-8 is replaced.
[[nodiscard]] std::string json_line(const nlohmann::json& json);

}  // namespace muster
