// SPDX-License-Identifier: Apache-2.0
#include "lib/base/json_read.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/base/json.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"

namespace muster {

using simdjson::SUCCESS;

// "/pci/facts/devices/3"; empty for the root.
std::string JsonReader::place() const {
  if (outer_ == nullptr) return "";
  if (key_.data() == nullptr) return fmt::format("{}/{}", outer_->place(), index_);
  return fmt::format("{}/{}", outer_->place(), key_);
}

void JsonReader::refuse(std::string_view why) const {
  if (!failed()) error_ = printable(fmt::format("{}: {}", outer_ == nullptr ? "/" : place(), why));
}

bool JsonReader::expect_object() const {
  if (!json_.is_object()) refuse("expected an object");
  return json_.is_object();
}

void JsonReader::expect_schema(std::string_view schema) const {
  std::string seen;
  if (expect_object()) member("schema", seen);
  if (failed() || seen == schema) return;
  error_ =
      fmt::format(R"({}/schema: expected "{}", got "{}")", place(), schema, printable(seen, 60));
}

void JsonReader::read_member(std::string_view key, void* value, Read read_value,
                             Presence presence) const {
  if (failed()) return;
  Json found;
  if (json_.at_key(key).get(found) == SUCCESS) {
    return read_value(JsonReader(*this, found, key), value);
  }
  if (presence == Presence::required) error_ = fmt::format("{}/{}: missing", place(), key);
}

void JsonReader::visit_members(const void* visit, VisitMember call) const {
  simdjson::dom::object object;
  if (json_.get(object) != SUCCESS) return refuse("expected an object");
  for (const auto [key, value] : object) {
    if (!failed()) call(visit, key, JsonReader(*this, value, key));
  }
}

// Not the parser's own count, which saturates at 2^24 - 1.
std::size_t JsonReader::size_of_array() const {
  simdjson::dom::array array;
  if (json_.get(array) == SUCCESS) {
    return static_cast<std::size_t>(std::distance(array.begin(), array.end()));
  }
  refuse("expected an array");
  return 0;
}

void JsonReader::read_items(void* values, std::size_t size, Read read_value) const {
  simdjson::dom::array array;
  if (json_.get(array) != SUCCESS) return;
  std::size_t index = 0;
  for (const Json item : array) {
    if (failed()) return;
    read_value(JsonReader(*this, item, {}, index), static_cast<char*>(values) + index * size);
    ++index;
  }
}

bool JsonReader::is_null() const { return json_.is_null(); }

void JsonReader::read(bool& value) const {
  if (json_.get(value) != SUCCESS) refuse("expected true or false");
}

void JsonReader::read(double& value) const {
  if (json_.get(value) != SUCCESS) refuse("expected a number");
}

template <class T>
void JsonReader::read_whole(T& value) const {
  std::uint64_t natural = 0;
  std::int64_t negative = 0;
  if (json_.get(natural) == SUCCESS) {
    if (natural > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
      return refuse("expected a smaller number");
    }
    value = static_cast<T>(natural);
  } else if (json_.get(negative) == SUCCESS) {
    if (std::is_unsigned_v<T> ||
        negative < static_cast<std::int64_t>(std::numeric_limits<T>::min())) {
      return refuse("expected a larger number");
    }
    value = static_cast<T>(negative);
  } else {
    refuse("expected a whole number");
  }
}

void JsonReader::read(std::int64_t& value) const { read_whole(value); }
void JsonReader::read(std::uint64_t& value) const { read_whole(value); }
void JsonReader::read(int& value) const { read_whole(value); }
void JsonReader::read(unsigned& value) const { read_whole(value); }

void JsonReader::read(std::string& value) const {
  std::string_view text;
  if (json_.get(text) != SUCCESS) return refuse("expected a string");
  value = text;
}

void JsonReader::read(
    std::variant<std::monostate, bool, std::int64_t, double, std::string>& value) const {
  if (json_.is_bool()) return read(value.emplace<bool>());
  if (json_.is_int64() || json_.is_uint64()) return read(value.emplace<std::int64_t>());
  if (json_.is_double()) return read(value.emplace<double>());
  if (json_.is_string()) return read(value.emplace<std::string>());
  if (!json_.is_null()) refuse("expected null, true, false, a number or a string");
}

std::optional<Error> JsonReader::read_reason() const {
  // The first one counts: a fact that could not be read is not absent.
  for (const auto key : {kUnreadableKey, kAbsentKey}) {
    if (!json_.is_object() || json_.at_key(key).error() != SUCCESS) continue;
    Error reason{.missing = key == kAbsentKey};
    member(key, reason.message);
    return reason;
  }
  return std::nullopt;
}

std::size_t JsonReader::read_word(std::span<const std::string_view> words) const {
  std::string word;
  read(word);
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  refuse(fmt::format("expected {}", or_list(words)));
  return 0;
}

Result<void> read_json_text(std::string_view text,
                            const std::function<void(const JsonReader&)>& read) {
  thread_local simdjson::dom::parser parser;  // its buffers are reused
  simdjson::dom::element document;
  const auto failure = parser.parse(text.data(), text.size()).get(document);
  if (failure != SUCCESS) {
    // This parser does not report the place.
    TRY(parse_json(text));
    return make_error(simdjson::error_message(failure));
  }
  std::string error;
  read(JsonReader(document, error));
  return error.empty() ? Result<void>() : make_error(std::move(error));
}

}  // namespace muster
