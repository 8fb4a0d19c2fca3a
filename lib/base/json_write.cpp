// SPDX-License-Identifier: Apache-2.0
#include "lib/base/json_write.hpp"

#include <nlohmann/json.hpp>

namespace muster {

void JsonWriter::write(bool value) { target_ = value; }

void JsonWriter::write(double value) { target_ = value; }

void JsonWriter::write(std::int64_t value) { target_ = value; }

void JsonWriter::write(std::uint64_t value) { target_ = value; }

void JsonWriter::write(std::string_view text) { target_ = text; }

// Growing an object or array would copy what it already holds.
void JsonWriter::begin_object(std::size_t size) {
  target_ = nlohmann::ordered_json::object();
  target_.get_ref<nlohmann::ordered_json::object_t&>().reserve(size);
}

void JsonWriter::begin_array(std::size_t size) {
  target_ = nlohmann::ordered_json::array();
  target_.get_ref<nlohmann::ordered_json::array_t&>().reserve(size);
}

nlohmann::ordered_json& JsonWriter::add_item() { return target_.emplace_back(); }

// Keys are unique by construction: the search that emplace() would make is left out.
nlohmann::ordered_json& JsonWriter::add_member(std::string_view name) {
  auto& members = target_.get_ref<nlohmann::ordered_json::object_t&>();
  using Members = nlohmann::ordered_json::object_t::Container;
  return static_cast<Members&>(members).emplace_back(name, nullptr).second;
}

std::string write_json_text(const std::function<void(JsonWriter&)>& write) {
  nlohmann::ordered_json document;
  JsonWriter writer(document);
  write(writer);
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace muster
