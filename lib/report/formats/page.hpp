// SPDX-License-Identifier: Apache-2.0
// Markup: escaping, and pages made from a Mustache template.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace muster {

// Escapes text for use between tags or in a quoted attribute; cuts it after `most` bytes.
[[nodiscard]] std::string escaped(std::string_view raw, std::size_t most = 4096);

// Fills the template with `data`. {{key}} is escaped for HTML and XML. Null, false, "" and [] count
// as false for sections; numbers are written as in JSON, so format them first.
[[nodiscard]] std::string render_page(std::string_view page_template,
                                      const nlohmann::ordered_json& data);

}  // namespace muster
