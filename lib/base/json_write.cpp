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
  std::string shown;
  bool is_all_plain = std::ranges::all_of(value, is_plain);
  if (longest_ && !(is_all_plain && value.size() <= *longest_)) {
    shown = printable(value, *longest_);
    value = shown;
    is_all_plain = std::ranges::all_of(value, is_plain);
  }
  text_ += '"';
  if (is_all_plain) {
    text_ += value;
  } else {
    const auto json =
        nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text_.append(json, 1, json.size() - 2);
  }
  text_ += '"';
}

}  // namespace muster
