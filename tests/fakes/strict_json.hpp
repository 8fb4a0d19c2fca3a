// SPDX-License-Identifier: Apache-2.0
// Reads a fake's scenario. Unlike from_json it refuses unknown keys, so that no test passes because
// of a fault that is misspelt.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/json_read.hpp"

namespace muster::fakes {

// Reading it refuses the keys that T does not have.
template <class T>
struct KeysOf {};

struct AnyValue {};
inline void read_json(const JsonReader& /*json*/, AnyValue& /*value*/) {}

template <class T>
void read_json(const JsonReader& json, KeysOf<T>& /*keys*/) {
  if constexpr (Described<T>) {
    std::map<std::string, AnyValue> unknown;
    json.read(unknown);
    for_each_field<T>([&](const auto& field) {
      unknown.erase(std::string(field.name));
      KeysOf<std::decay_t<decltype(T().*field.member)>> inner;
      json.member(field.name, inner);
    });
    if (!unknown.empty()) json.refuse(fmt::format("unknown key \"{}\"", unknown.begin()->first));
  }
}

template <class T>
void read_json(const JsonReader& json, KeysOf<std::optional<T>>& /*keys*/) {
  KeysOf<T> inner;
  json.read(inner);
}

template <class T>
void read_json(const JsonReader& json, KeysOf<std::vector<T>>& /*keys*/) {
  std::vector<KeysOf<T>> inner;
  json.read(inner);
}

template <class T>
Result<T> from_strict_json(std::string_view text) {
  TRY(from_json<KeysOf<T>>(text));
  return from_json<T>(text);
}

// The scenario in the file that an environment variable names; the usual one if it is not set.
// Aborts if the file is missing or wrong.
template <class T>
T load_scenario(const char* variable) {
  const char* const path = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): it is constant
  if (path == nullptr) return {};
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator(file), {}};
  auto scenario = from_strict_json<T>(text);
  if (scenario) return *std::move(scenario);
  fmt::print(stderr, "{}: {}: {}\n", variable, path, scenario.error().message);
  std::abort();
}

}  // namespace muster::fakes
