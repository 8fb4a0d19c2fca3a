// SPDX-License-Identifier: Apache-2.0
#include "lib/report/formats/page.hpp"

#include <algorithm>
#include <array>
#include <kainjow/mustache.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/text.hpp"

namespace muster {
namespace {

using kainjow::mustache::data;

data page_data(const nlohmann::ordered_json& json) {
  if (json.is_object()) {
    data object(data::type::object);
    for (const auto& [key, value] : json.items()) object.set(key, page_data(value));
    return object;
  }
  if (json.is_array()) {
    data list(data::type::list);
    for (const auto& each : json) list.push_back(page_data(each));
    return list;
  }
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    return text.empty() ? data(false) : data(text);
  }
  if (json.is_number()) return {json.dump()};
  return {json.is_boolean() && json.get<bool>()};
}

}  // namespace

// printable() removes control characters, but XML also forbids U+FFFE and U+FFFF.
std::string escaped(std::string_view raw, std::size_t most) {
  constexpr std::array kEntities{std::pair{'&', "&amp;"}, std::pair{'<', "&lt;"},
                                 std::pair{'>', "&gt;"}, std::pair{'"', "&quot;"},
                                 std::pair{'\'', "&apos;"}};
  std::string text;
  const auto shown = printable(raw, most);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto three = std::string_view(shown).substr(i, 3);
    if (three == "\xef\xbf\xbe" || three == "\xef\xbf\xbf") {
      i += 2;
      continue;
    }
    const auto* const entity =
        std::ranges::find(kEntities, shown[i], [](auto e) { return e.first; });
    text += entity == kEntities.end() ? std::string(1, shown[i]) : entity->second;
  }
  return text;
}

std::string render_page(std::string_view page_template, const nlohmann::ordered_json& data) {
  kainjow::mustache::mustache page{std::string(page_template)};
  page.set_custom_escape([](const std::string& text) { return escaped(text); });
  auto view = page_data(data);
  view.set("page_style", std::string(trim(page_style())));
  return page.render(view);
}

}  // namespace muster
