// SPDX-License-Identifier: Apache-2.0
#include "lib/base/json_write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"

namespace muster {

void JsonWriter::write(double value) { text_ += nlohmann::json(value).dump(); }

void JsonWriter::write(std::int64_t value) {
  fmt::format_to(std::back_inserter(text_), "{}", value);
}

void JsonWriter::write(std::uint64_t value) {
  fmt::format_to(std::back_inserter(text_), "{}", value);
}

void JsonWriter::write(std::string_view value) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  const auto shown = longest_ ? printable(value, *longest_) : std::string();
  if (longest_) value = shown;
  text_ += '"';
  if (std::ranges::all_of(value, is_plain)) {
    text_ += value;
  } else {
    const auto json =
        nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text_.append(json, 1, json.size() - 2);
  }
  text_ += '"';
}

}  // namespace muster
