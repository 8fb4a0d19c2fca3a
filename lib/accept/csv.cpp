// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string_view>

#include "lib/accept/page.hpp"
#include "lib/base/text.hpp"

namespace muster::accept {
namespace {

void add_text(std::string& line, std::string_view raw) {
  const auto text = printable(raw, 4096);
  if (!line.empty()) line += ',';
  const bool formula =
      !text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos;
  if (!formula && text.find_first_of(",\" ") == std::string::npos) {
    line += text;
    return;
  }
  line += formula ? "\"'" : "\"";
  for (const char c : text) line += c == '"' ? "\"\"" : std::string(1, c);
  line += '"';
}

}  // namespace

std::string accept_csv(const Delivery& delivery) {
  std::string line;
  for (const auto* name : {"node", "verdict", "stage", "why", "group", "physical_host", "serial",
                           "soak_hours", "remarks"}) {
    add_text(line, name);
  }
  for (const auto& quantity : delivery.quantities) {
    add_text(line, fmt::format("{} ({})", quantity.name, quantity.unit));
  }
  auto csv = fmt::format("{}\r\n", line);
  for (const auto& row : delivery.nodes) {
    line.clear();
    add_text(line, row.node);
    for (const auto& text : {to_string(row.verdict), to_string(row.stage),
                             std::string_view(row.why), std::string_view(row.group),
                             std::string_view(row.physical_host), std::string_view(row.serial)}) {
      add_text(line, text);
    }
    line += fmt::format(",{:.2f},{}", row.soak_hours, row.remarks.size());
    for (const auto& value : row.values) line += value ? fmt::format(",{:.6g}", *value) : ",";
    csv += fmt::format("{}\r\n", line);
  }
  return csv;
}

}  // namespace muster::accept
