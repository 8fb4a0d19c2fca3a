// SPDX-License-Identifier: Apache-2.0
#include "lib/node/json/decode.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "lib/base/json.hpp"
#include "lib/base/text.hpp"
#include "lib/node/json/encode.hpp"

namespace muster::json {

// They are asked for in the order in which they were most likely written.
class Members {
 public:
  explicit Members(const simdjson::dom::object& object) : object_(object), next_(object.begin()) {}

  // False when there is no such member.
  bool find(std::string_view key, Element& value) {
    if (next_ != object_.end() && next_.key() == key) {
      value = next_.value();
      ++next_;
      return true;
    }
    return object_.at_key(key).get(value) == simdjson::SUCCESS;
  }

 private:
  simdjson::dom::object object_;
  simdjson::dom::object::iterator next_;
};

void Decoder::refuse(std::string why) {
  if (error_.empty()) error_ = std::move(why);
}

void Decoder::read_document(std::string_view text, const void* context, ReadDocument take) {
  thread_local simdjson::dom::parser parser;  // its buffers serve again
  Element document;
  const auto failure = parser.parse(text.data(), text.size()).get(document);
  if (failure != simdjson::SUCCESS) {
    // The fast parser does not say where.
    const auto slower = parse_json(text);
    return refuse(slower ? simdjson::error_message(failure) : slower.error().message);
  }
  take(document, context);
}

bool Decoder::read_object(const Element& json, const void* context, ReadMembers take) {
  simdjson::dom::object object;
  if (json.get(object) != simdjson::SUCCESS) return expected("an object");
  Members members(object);
  take(members, context);
  return error_.empty();
}

void Decoder::read_member(Members& members, std::string_view key, void* value, Read read_value) {
  Element found;
  if (!error_.empty() || !members.find(key, found)) return;
  path_.push_back({.key = key});
  read_value(*this, found, value);
  path_.pop_back();
}

bool Decoder::read_array(const Element& json, void* values, Resize resize, ReadItem read_item) {
  simdjson::dom::array array;
  if (json.get(array) != simdjson::SUCCESS) return expected("an array");
  // Beyond 2^24 - 1 elements the parser's own count saturates.
  resize(values, static_cast<std::size_t>(std::distance(array.begin(), array.end())));
  path_.push_back({});
  std::size_t index = 0;
  for (const Element element : array) {
    path_.back().index = index;
    if (!read_item(*this, element, values, index)) break;
    ++index;
  }
  path_.pop_back();
  return error_.empty();
}

bool Decoder::read_map(const Element& json, void* values, Place place, Read read_value) {
  simdjson::dom::object object;
  if (json.get(object) != simdjson::SUCCESS) return expected("an object");
  for (const auto [key, value] : object) {
    path_.push_back({.key = key});
    const bool good = read_value(*this, value, place(values, key));
    path_.pop_back();
    if (!good) return false;
  }
  return true;
}

bool Decoder::read(const Element& json, bool& value) {
  return json.get(value) == simdjson::SUCCESS || expected("true or false");
}

bool Decoder::read(const Element& json, double& value) {
  return json.get(value) == simdjson::SUCCESS || expected("a number");
}

template <class T>
bool Decoder::read_whole(const Element& json, T& value) {
  if (!json.is_int64() && !json.is_uint64()) return expected("a whole number");
  std::uint64_t natural = 0;
  if (json.get(natural) == simdjson::SUCCESS) {
    if (natural > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
      return expected("a smaller number");
    }
    value = static_cast<T>(natural);
    return true;
  }
  const auto negative = json.get_int64().value_unsafe();
  if (std::is_unsigned_v<T> ||
      negative < static_cast<std::int64_t>(std::numeric_limits<T>::min())) {
    return expected("a larger number");
  }
  value = static_cast<T>(negative);
  return true;
}

bool Decoder::read(const Element& json, std::uint64_t& value) { return read_whole(json, value); }

bool Decoder::read(const Element& json, unsigned& value) { return read_whole(json, value); }

bool Decoder::read(const Element& json, int& value) { return read_whole(json, value); }

bool Decoder::read(const Element& json, std::string& value) {
  std::string_view text;
  if (json.get(text) != simdjson::SUCCESS) return expected("a string");
  value = text;
  return true;
}

bool Decoder::read(const Element& json, PciKind& kind) {
  std::string_view name;
  if (json.get(name) != simdjson::SUCCESS) return expected("a string");
  const auto* known = std::ranges::find(kPciKinds, name);
  if (known == kPciKinds.end()) return expected("gpu, nvswitch, hca, ethernet, nvme or bridge");
  kind = static_cast<PciKind>(known - kPciKinds.begin());
  return true;
}

Decoder::Known Decoder::read_reason(const Element& json, std::string& why) {
  if (!json.is_object()) return Known::yes;
  for (const auto mark : {kAbsent, kUnreadable}) {
    Element reason;
    if (json.at_key(mark).get(reason) != simdjson::SUCCESS) continue;
    path_.push_back({.key = mark});
    const bool good = read(reason, why);
    path_.pop_back();
    if (!good) return Known::refused;
    return mark == kAbsent ? Known::absent : Known::unreadable;
  }
  return Known::yes;
}

bool Decoder::read_status(Members& members, Status& status, std::string& reason,
                          double& duration_ms) {
  std::string name = "error";
  member(members, "status", name);
  member(members, "reason", reason);
  member(members, "duration_ms", duration_ms);
  if (!error_.empty()) return false;
  for (const auto each : {Status::ok, Status::absent, Status::timeout, Status::error}) {
    if (to_string(each) != name) continue;
    status = each;
    return true;
  }
  return expected("a status: ok, absent, timeout or error");
}

bool Decoder::expected(std::string_view what) {
  std::string place = path_.empty() ? "/" : "";
  for (const auto& [key, index] : path_) {
    place += key.data() == nullptr ? fmt::format("/{}", index) : fmt::format("/{}", key);
  }
  refuse(printable(fmt::format("{}: expected {}", place, what)));
  return false;
}

}  // namespace muster::json
