// SPDX-License-Identifier: Apache-2.0
// Where a text stops being JSON, for people: the fast parser only says that it does.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// Line, column and what was expected there; `otherwise` where nothing is found to be wrong.
[[nodiscard]] std::string json_trouble(std::string_view text, std::string_view otherwise);

}  // namespace muster
