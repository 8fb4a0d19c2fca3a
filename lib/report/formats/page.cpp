// SPDX-License-Identifier: Apache-2.0
#include "lib/report/formats/page.hpp"

#include <kainjow/mustache.hpp>
#include <nlohmann/json.hpp>

#include "lib/report/formats/markup.hpp"

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

std::string render_page(std::string_view page_template, const nlohmann::ordered_json& data) {
  kainjow::mustache::mustache page{std::string(page_template)};
  page.set_custom_escape([](const std::string& text) { return escaped(text); });
  return page.render(page_data(data));
}

}  // namespace muster
