// SPDX-License-Identifier: Apache-2.0
// Pages made from a Mustache template.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace muster {

// Fills the template with `data`. {{key}} is escaped for HTML and XML. Null, false, "" and [] count
// as false for sections; numbers are written as in JSON, so format them first.
[[nodiscard]] std::string render_page(std::string_view page_template,
                                      const nlohmann::ordered_json& data);

}  // namespace muster
