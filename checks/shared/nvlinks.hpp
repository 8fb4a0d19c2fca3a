// SPDX-License-Identifier: Apache-2.0
// Shared by the checks of NVLinks: the state of a link, and the text for a list of links.
#pragma once

#include <fmt/ranges.h>

#include <array>

#include "checks/shared/gpus.hpp"

namespace muster::checks::gpu {

enum class LinkState : unsigned { inactive = 0, active = 1, asleep = 2 };
enum class LinkPeer : unsigned { gpu = 0, npu = 1, nvswitch = 2, unknown = 255 };

using Links = std::vector<const NvLink*>;

[[nodiscard]] inline bool is(const NvLink& link, LinkState state) {
  return link.state && *link.state == static_cast<unsigned>(state);
}

[[nodiscard]] inline bool leads_to(const NvLink& link, LinkPeer peer) {
  return link.remote_type && *link.remote_type == static_cast<unsigned>(peer);
}

// A link that sleeps to save power wakes up on use.
[[nodiscard]] inline bool is_up(const NvLink& link) {
  return is(link, LinkState::active) || is(link, LinkState::asleep);
}

[[nodiscard]] inline bool has_known_peer(const NvLink& link) {
  return is_up(link) && link.remote_type && !leads_to(link, LinkPeer::unknown);
}

template <class Predicate>
[[nodiscard]] Links links_where(const Gpu& gpu, const Predicate& predicate) {
  Links links;
  if (!gpu.nvlinks) return links;
  for (const NvLink& link : *gpu.nvlinks) {
    if (predicate(link)) links.push_back(&link);
  }
  return links;
}

// "link 4", "links 4 and 11", "links 4, 7 and 11".
[[nodiscard]] inline std::string named(const Links& links) {
  std::vector<unsigned> numbers;
  numbers.reserve(links.size());
  for (const NvLink* link : links) numbers.push_back(link->link);
  if (numbers.empty()) return "no link";
  const unsigned last = numbers.back();
  numbers.pop_back();
  if (numbers.empty()) return fmt::format("link {}", last);
  return fmt::format("links {} and {}", fmt::join(numbers, ", "), last);
}

// With a verb: "link 4 is", "links 4 and 11 are".
[[nodiscard]] inline std::string named(const Links& links, std::string_view verb_of_one,
                                       std::string_view verb_of_many) {
  return fmt::format("{} {}", named(links), links.size() == 1 ? verb_of_one : verb_of_many);
}

// A vGPU, whose name ends with its type: "NVIDIA A100-40C", "GRID V100-8Q", "A100-1-5CME".
[[nodiscard]] inline bool is_virtual(const Gpu& gpu) {
  if (!gpu.model) return false;
  std::string_view type = *gpu.model;
  type.remove_prefix(std::min(type.rfind('-'), type.size() - 1) + 1);
  const auto digits = std::min(type.find_first_not_of("0123456789"), type.size());
  const auto letters = type.substr(digits);
  constexpr std::array<std::string_view, 5> kKinds{"A", "B", "C", "Q", "CME"};
  return digits > 0 && std::ranges::count(kKinds, letters) > 0;
}

// Why the NVLinks of a GPU say nothing about its hardware; empty if they do.
[[nodiscard]] inline std::string_view hides_links(const Gpu& gpu) {
  if (gpu.modes.mig.value_or(false)) return "MIG is on, and MIG slices do not use NVLink";
  if (is_virtual(gpu)) return "it is a virtual GPU";
  return {};
}

}  // namespace muster::checks::gpu
