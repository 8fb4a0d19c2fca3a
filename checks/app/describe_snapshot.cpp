// SPDX-License-Identifier: Apache-2.0
// `muster snapshot --describe`.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "checks/app/commands.hpp"
#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/node/snapshot.hpp"

namespace muster::app {
namespace {

using AddRows = void (*)(const std::string& prefix, std::string& table);

// What a member holds.
struct Shape {
  std::string_view word;       // of the type inside facts, lists and maps
  std::string around;          // ", list, fact": these, from within
  AddRows add_rows = nullptr;  // of the type's own members, where it has some
};

template <Described T>
void add_rows(const std::string& prefix, std::string& table);

Shape inside(std::string_view what, Shape shape) {
  shape.around += shape.around.empty() ? ", " : " ";
  shape.around += what;
  return shape;
}

template <class T>
struct ShapeOf {
  static Shape get() {
    if constexpr (Described<T>) return {.word = "object", .around = "", .add_rows = add_rows<T>};
    if constexpr (std::is_same_v<T, bool>) return {.word = "true or false", .around = ""};
    if constexpr (std::is_floating_point_v<T>) return {.word = "number", .around = ""};
    if constexpr (std::is_integral_v<T>) return {.word = "whole number", .around = ""};
    return {.word = "text", .around = ""};
  }
};

template <class T>
struct ShapeOf<Fact<T>> {
  static Shape get() { return inside("fact", ShapeOf<T>::get()); }
};

template <class T>
struct ShapeOf<std::optional<T>> : ShapeOf<T> {};

template <class T>
struct ShapeOf<std::vector<T>> {
  static Shape get() { return inside("list", ShapeOf<T>::get()); }
};

template <class T>
struct ShapeOf<std::map<std::string, T>> {
  static Shape get() { return inside("map", ShapeOf<T>::get()); }
};

template <class Struct, class T>
Shape shape_of(T Struct::* /*member*/) {
  return ShapeOf<T>::get();
}

void add_row(const std::string& prefix, std::string_view name, std::string_view about,
             const Shape& shape, std::string& table) {
  const bool many = shape.around.find("list") != std::string::npos ||
                    shape.around.find("map") != std::string::npos;
  const auto path = fmt::format("{}{}{}", prefix, name, many ? "[]" : "");
  table += fmt::format("| `{}` | {}{} | {} |\n", path, shape.word, shape.around, about);
  if (shape.add_rows != nullptr) shape.add_rows(path + ".", table);
}

template <Described T>
void add_rows(const std::string& prefix, std::string& table) {
  for_each_field<T>([&](const auto& each) {
    add_row(prefix, each.name, each.about, shape_of(each.member), table);
  });
}

template <Described T>
std::string table_of() {
  std::string table = "| field | type | meaning |\n|---|---|---|\n";
  add_rows<T>("", table);
  return table;
}

}  // namespace

std::string describe_snapshot() {
  std::string text = fmt::format(
      "# The snapshot, `{}`\n\n"
      "Made by `muster snapshot --describe`; do not edit.\n\n"
      "Everything observed on one node at one time, as `muster snapshot` prints it and `muster "
      "check\n"
      "--snapshot` reads it. One JSON object with `schema`, `taken` (wall clock in UTC, a label), "
      "one\n"
      "section per probe, and `earlier`, what earlier runs on the node saw.\n\n"
      "Every section has `status` (`ok`, `absent`, `timeout` or `error`), `reason` where it is "
      "not\n"
      "`ok`, `duration_ms`, and `facts`. A *fact* is the value itself, or an object that says why "
      "there\n"
      "is none: `{{\"$absent\": \"why\"}}` where the node does not offer it, `{{\"$unreadable\": "
      "\"why\"}}`\n"
      "where it does and cannot be read. Unknown keys are ignored, so that a newer muster's "
      "snapshot\n"
      "can be judged.\n",
      kSnapshotSchema);
  const Snapshot snapshot;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    using Facts = std::remove_cvref_t<decltype(section.facts)>;
    text += fmt::format("\n## `{}`\n\n{}", to_string(probe), table_of<Facts>());
  });
  return fmt::format("{}\n## `earlier`\n\n{}", text, table_of<Earlier>());
}

}  // namespace muster::app
