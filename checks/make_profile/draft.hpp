// SPDX-License-Identifier: Apache-2.0
// The lines of a profile that is being made from nodes.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/node/snapshot.hpp"

namespace muster::app {

// A text in YAML, in quotes.
[[nodiscard]] std::string yaml_text(std::string_view text);

// A value as YAML; nothing where a node does not tell it.
using Told = std::optional<std::string>;

// A fact, or an optional value, in this form.
template <class Maybe>
[[nodiscard]] Told told(const Maybe& value, std::string_view form = "{}") {
  if (!value) return std::nullopt;
  return fmt::format(fmt::runtime(form), *value);
}

// "[a, b]" of texts that need no quotes, and "{a: b}" of entries; nothing without any.
[[nodiscard]] Told flow_list(const std::vector<std::string>& words);
[[nodiscard]] Told flow_map(const std::vector<std::string>& entries);

class ProfileDraft {
 public:
  using ValueOf = std::function<Told(const Snapshot& node)>;

  explicit ProfileDraft(const std::vector<Snapshot>& nodes) : nodes_(nodes) {}

  // Sets the key at `path` to what more than half of the nodes say, and says how many those are;
  // where there is no such value, that is noted. Keys of one block follow each other.
  void add(std::string_view path, const ValueOf& value_of);

  // As add(), for what many nodes do not tell: nothing is noted where none of them does.
  void add_if_told(std::string_view path, const ValueOf& value_of);

  [[nodiscard]] std::string yaml() const;

  [[nodiscard]] const std::vector<std::string>& untold() const { return untold_; }

 private:
  struct Line {
    std::string path;
    std::string value;
    std::string from;
  };

  void add(std::string_view path, const ValueOf& value_of, bool must_tell);

  const std::vector<Snapshot>& nodes_;
  std::vector<Line> lines_;
  std::vector<std::string> untold_;
};

}  // namespace muster::app
