// SPDX-License-Identifier: Apache-2.0
// Access to parts that a fault changes. Like the standard library's at(), each function throws if
// the part is missing; make_faulty() turns that into an error.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/units.hpp"
#include "tests/nodes/node.hpp"
#include "tests/nodes/tree.hpp"

namespace muster::nodes {

template <class T>
T& needed(Fact<T>& fact) {
  std::optional<std::reference_wrapper<T>> there;
  if (fact) there = *fact;
  return there.value();
}

// The element whose `member` is `name`.
template <class T>
T& needed(std::vector<T>& parts, std::string T::*member, std::string_view name) {
  const auto found = std::ranges::find(parts, name, member);
  return parts.at(static_cast<std::size_t>(found - parts.begin()));
}

template <class T>
void drop(std::vector<T>& parts, std::size_t index) {
  static_cast<void>(parts.at(index));
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(index));
}

// A file of the tree.
inline const std::string& needed(const Tree& tree, const std::string& path) {
  return tree.entries().at(path).content;
}

inline void take_down(NetdevDescription& netdev) {
  netdev.operstate = "down";
  netdev.carrier = false;
}

// Makes NVML return this code for a call about one GPU.
inline void answer(NodeDescription& node, std::size_t gpu, std::string_view call, int code) {
  static_cast<void>(node.gpus.at(gpu));
  node.nvml.answers[fmt::format("{} gpu{}", call, gpu)] = code;
}

// Adds a line of the kernel log, an hour before the snapshot; `after_s` is the time into an
// incident.
inline void log(NodeDescription& node, std::string text, unsigned level = 3, double after_s = 0) {
  const auto time_us = static_cast<std::uint64_t>((node.system.uptime_s - kHour + after_s) * 1e6);
  node.kernel_log.push_back({.level = level, .time_us = time_us, .text = std::move(text)});
}

}  // namespace muster::nodes
