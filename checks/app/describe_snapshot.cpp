// SPDX-License-Identifier: Apache-2.0
// `muster snapshot --describe`.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "checks/app/commands.hpp"
#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/node/snapshot.hpp"

namespace muster::app {
namespace {

template <class Struct, class T>
T member_type(T Struct::*);

// What a member holds: through facts, lists and maps to the type that counts.
template <class T>
struct Shape {
  using Inner = T;

  static std::string form() { return ""; }
};

template <class T>
struct Shape<Fact<T>> {
  using Inner = typename Shape<T>::Inner;

  static std::string form() { return fmt::format("{}fact ", Shape<T>::form()); }
};

template <class T>
struct Shape<std::optional<T>> {
  using Inner = typename Shape<T>::Inner;

  static std::string form() { return Shape<T>::form(); }
};

template <class T>
struct Shape<std::vector<T>> {
  using Inner = typename Shape<T>::Inner;

  static std::string form() { return fmt::format("{}list ", Shape<T>::form()); }
};

template <class T>
struct Shape<std::map<std::string, T>> {
  using Inner = typename Shape<T>::Inner;

  static std::string form() { return fmt::format("{}map ", Shape<T>::form()); }
};

template <class T>
std::string type_name() {
  using Inner = typename Shape<T>::Inner;
  auto form = Shape<T>::form();
  if (!form.empty()) form = fmt::format(", {}", form.substr(0, form.size() - 1));
  if constexpr (Described<Inner>) return fmt::format("object{}", form);
  if constexpr (std::is_same_v<Inner, bool>) return fmt::format("true or false{}", form);
  if constexpr (std::is_floating_point_v<Inner>) return fmt::format("number{}", form);
  if constexpr (std::is_integral_v<Inner>) return fmt::format("whole number{}", form);
  return fmt::format("text{}", form);
}

template <Described T>
void add_rows(const std::string& prefix, std::string& table) {
  for_each_field<T>([&](const auto& each) {
    using Member = decltype(member_type(each.member));
    using Inner = typename Shape<Member>::Inner;
    const bool collection = Shape<Member>::form().find("list") != std::string::npos ||
                            Shape<Member>::form().find("map") != std::string::npos;
    const auto path = fmt::format("{}{}{}", prefix, each.name, collection ? "[]" : "");
    table += fmt::format("| `{}` | {} | {} |\n", path, type_name<Member>(), each.about);
    if constexpr (Described<Inner>) add_rows<Inner>(fmt::format("{}.", path), table);
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
