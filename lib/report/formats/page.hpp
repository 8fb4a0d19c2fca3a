// SPDX-License-Identifier: Apache-2.0
// Markup: escaping, pages made from a Mustache template, and the pictures of the HTML page.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "lib/report/report.hpp"

namespace muster {

// Escapes text for use between tags or in a quoted attribute; cuts it after `most` bytes.
[[nodiscard]] std::string escaped(std::string_view raw, std::size_t most = 4096);

// Fills the template with `data`. {{key}} is escaped for HTML and XML. Null, false, "" and [] count
// as false for sections; numbers are written as in JSON, so format them first. {{{page_style}}} is
// page_style().
[[nodiscard]] std::string render_page(std::string_view page_template,
                                      const nlohmann::ordered_json& data);

// The style sheet that the pages of a delivery and of a fleet share, style.css.
[[nodiscard]] std::string_view page_style();

// The template of the HTML page, page.html. Its data is the JSON document of a report with what
// to_html() adds to it.
[[nodiscard]] std::string_view html_page();

// The pictures of a report: breakdowns, matrices, and charts of bandwidth by size.
struct Pictures {
  nlohmann::ordered_json data;                  // for the template; null if there are none
  std::map<std::string, std::string> by_check;  // the id of the first picture of a check's findings
  std::set<const Measurement*> drawn;           // the measurements in charts
};

[[nodiscard]] Pictures pictures_of(const Report& report);

}  // namespace muster
