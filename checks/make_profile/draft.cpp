// SPDX-License-Identifier: Apache-2.0
#include "checks/make_profile/draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "lib/base/text.hpp"

namespace muster::app {

std::string yaml_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : printable(text, 200)) {
    if (c == '"' || c == '\\') result.push_back('\\');
    result.push_back(c);
  }
  result.push_back('"');
  return result;
}

YamlValue flow_list(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  return fmt::format("[{}]", fmt::join(words, ", "));
}

YamlValue flow_map(const std::vector<std::string>& entries) {
  if (entries.empty()) return std::nullopt;
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

void ProfileDraft::add(std::string_view path, const ValueOf& value_of) {
  add(path, value_of, true);
}

void ProfileDraft::add_if_known(std::string_view path, const ValueOf& value_of) {
  add(path, value_of, false);
}

void ProfileDraft::add(std::string_view path, const ValueOf& value_of, bool must_know) {
  std::map<std::string, std::size_t> counts;
  for (const auto& node : nodes_) {
    if (const auto value = value_of(node)) ++counts[*value];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  if (most == counts.end()) {
    if (must_know) missing_.push_back(fmt::format("{}: unknown", path));
    return;
  }
  if (most->second * 2 <= nodes_.size()) {
    std::vector<std::string> values;
    for (const auto& [value, count] : counts)
      values.push_back(fmt::format("{} x {}", count, value));
    missing_.push_back(fmt::format("{}: the nodes differ ({})", path, fmt::join(values, "; ")));
    return;
  }
  auto from = nodes_.size() == 1 ? std::string("this node")
                                 : fmt::format("{} of {} nodes", most->second, nodes_.size());
  lines_.push_back({std::string(path), most->first, std::move(from)});
}

std::string ProfileDraft::yaml() const {
  std::string text;
  std::vector<std::string_view> open;
  for (const auto& line : lines_) {
    const auto parts = split(line.path, '.');
    std::size_t depth = 0;
    while (depth + 1 < parts.size() && depth < open.size() && open[depth] == parts[depth]) ++depth;
    open.resize(depth);
    for (; depth + 1 < parts.size(); ++depth) {
      if (depth == 0) text.push_back('\n');
      text += fmt::format("{:{}}{}:\n", "", depth * 2, parts[depth]);
      open.push_back(parts[depth]);
    }
    text += fmt::format("{:{}}{}: {}  # {}\n", "", depth * 2, parts.back(), line.value, line.from);
  }
  return text;
}

}  // namespace muster::app
