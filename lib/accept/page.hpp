// SPDX-License-Identifier: Apache-2.0
// A delivery in readable form: a self-contained web page without scripts, and a table for
// spreadsheets.
#pragma once

#include <string>
#include <string_view>

#include "lib/accept/delivery.hpp"

namespace muster::accept {

// The template of the page, page.html.
[[nodiscard]] std::string_view page_template();

enum class For { site, provider };

// page.html. Above 1,000 nodes it has no table of all nodes.
[[nodiscard]] std::string accept_page(const Delivery& delivery, For whom = For::site);

// accept.csv: RFC 4180, one row for each node. Text that a spreadsheet would take for a formula
// begins with an apostrophe.
[[nodiscard]] std::string accept_csv(const Delivery& delivery);

}  // namespace muster::accept
