// SPDX-License-Identifier: Apache-2.0
// Described structs to JSON: the fields() of a struct are its keys, in their order. A fact that is
// not known is an object with the reason: {"$absent": "…"} or {"$unreadable": "…"}.
#pragma once

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/node/devices.hpp"
#include "lib/node/section.hpp"

namespace muster::json {

using Json = nlohmann::ordered_json;

inline constexpr const char* kAbsent = "$absent";
inline constexpr const char* kUnreadable = "$unreadable";

inline constexpr std::array kPciKinds{
    std::pair{PciKind::gpu, std::string_view("gpu")},
    std::pair{PciKind::nvswitch, std::string_view("nvswitch")},
    std::pair{PciKind::hca, std::string_view("hca")},
    std::pair{PciKind::ethernet, std::string_view("ethernet")},
    std::pair{PciKind::nvme, std::string_view("nvme")},
    std::pair{PciKind::bridge, std::string_view("bridge")},
};

// All declared first: each may meet any other inside its template.
template <class T>
Json encode(const T& value);
inline Json encode(PciKind kind);
template <class T>
Json encode(const Fact<T>& fact);
template <class T>
Json encode(const std::vector<T>& values);
template <class T>
Json encode(const std::map<std::string, T>& values);
template <class T>
Json encode(const Section<T>& section);

template <class T>
Json encode(const T& value) {
  if constexpr (Described<T>) {
    Json object = Json::object();
    for_each_field<T>([&](const auto& field) {
      object.push_back({std::string(field.name), encode(value.*field.member)});
    });
    return object;
  } else {
    return Json(value);
  }
}

inline Json encode(PciKind kind) {
  for (const auto& [each, name] : kPciKinds) {
    if (each == kind) return Json(name);
  }
  return Json("bridge");
}

template <class T>
Json encode(const Fact<T>& fact) {
  if (fact) return encode(*fact);
  return Json{{fact.is_absent() ? kAbsent : kUnreadable, fact.why()}};
}

template <class T>
Json encode(const std::vector<T>& values) {
  Json array = Json::array();
  for (const auto& value : values) array.push_back(encode(value));
  return array;
}

template <class T>
Json encode(const std::map<std::string, T>& values) {
  Json object = Json::object();
  for (const auto& [key, value] : values) object.push_back({key, encode(value)});
  return object;
}

template <class T>
Json encode(const Section<T>& section) {
  Json object = Json::object();
  object.push_back({"status", std::string(to_string(section.status))});
  if (!section.reason.empty()) object.push_back({"reason", section.reason});
  object.push_back({"duration_ms", section.duration_ms});
  if (section.ok()) object.push_back({"facts", encode(section.facts)});
  return object;
}

}  // namespace muster::json
