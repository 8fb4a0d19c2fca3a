// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/xid_rules.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster {
namespace {

constexpr std::string_view kDecode = "decode";

std::optional<BrokenLimit> judge_number(const std::string& path, const std::string& number) {
  constexpr std::uint64_t kLargest = 999999;
  const auto parsed = parse_unsigned(number);
  if (parsed && *parsed <= kLargest) return std::nullopt;
  return BrokenLimit{path, fmt::format("\"{}\" is no number of an XID", printable(number, 60))};
}

// Words of a unit's status or a link's reason.
std::optional<BrokenLimit> judge_bits(const std::string& path, const Words& words) {
  for (const auto& word : words) {
    if (const auto bits = parse_hex(word); bits && *bits <= UINT32_MAX) continue;
    return BrokenLimit{path, fmt::format("\"{}\" is no word of 32 bits", printable(word, 60))};
  }
  return std::nullopt;
}

// A class that nothing says the meaning of.
template <class Limits>
std::optional<BrokenLimit> judge_class(const std::string& place, const std::string& path,
                                       const Limits& limits, const std::string& kind) {
  if (kind == kDecode || limits.kinds.contains(kind)) return std::nullopt;
  return BrokenLimit{
      place, fmt::format("is \"{}\", which is not among '{}.kinds'", printable(kind, 60), path)};
}

// The numbers of one rule: well-formed, and of no earlier rule.
std::optional<BrokenLimit> judge_numbers(const std::string& place, const Words& numbers,
                                         std::set<std::string>& seen) {
  for (const auto& number : numbers) {
    if (auto broken = judge_number(place, number)) return broken;
    if (!seen.insert(number).second) {
      return BrokenLimit{place, fmt::format("names {}, which an earlier rule has", number)};
    }
  }
  return std::nullopt;
}

// What is the same for XIDs and SXIDs.
template <class Limits>
std::optional<BrokenLimit> judge_rules(const std::string& path, const Limits& limits) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < limits.rules.size(); ++i) {
    const auto& rule = limits.rules[i];
    const std::string place = fmt::format("{}.rules.{}", path, i);
    if (rule.xids.empty()) return BrokenLimit{place, "has no xids"};
    auto broken = judge_numbers(fmt::format("{}.xids", place), rule.xids, seen);
    if (!broken) broken = judge_class(fmt::format("{}.class", place), path, limits, rule.kind);
    if (broken) return broken;
  }
  for (const auto& [number, kind] : limits.classes) {
    const std::string place = fmt::format("{}.classes.{}", path, printable(number, 60));
    auto broken = judge_number(place, number);
    if (!broken) broken = judge_class(place, path, limits, kind);
    if (broken) return broken;
  }
  return std::nullopt;
}

// Bits of the seven registers of 32 bits.
std::optional<BrokenLimit> judge_registers(const XidLimits& xid) {
  constexpr int kRegisters = 7;
  constexpr std::uint64_t kBits = 32;
  for (std::size_t i = 0; i < xid.nvlink_bits.size(); ++i) {
    const auto& row = xid.nvlink_bits[i];
    const std::string place = fmt::format("gpu.xid.nvlink_bits.{}", i);
    if (row.number < 1 || row.number > kRegisters) {
      return BrokenLimit{place, fmt::format("{} is none of the seven registers", row.number)};
    }
    for (const auto& bit : row.bits) {
      if (const auto number = parse_unsigned(bit); number && *number < kBits) continue;
      return BrokenLimit{place, fmt::format("\"{}\" is no bit of 32", printable(bit, 60))};
    }
    if (auto broken = judge_class(fmt::format("{}.class", place), "gpu.xid", xid, row.kind)) {
      return broken;
    }
  }
  return std::nullopt;
}

std::optional<BrokenLimit> judge_nvlink(const XidLimits& xid) {
  for (std::size_t i = 0; i < xid.nvlink_units.size(); ++i) {
    const auto& unit = xid.nvlink_units[i];
    const std::string place = fmt::format("gpu.xid.nvlink_units.{}", i);
    for (const auto* words : {&unit.reset, &unit.reset_if_flagged, &unit.evaluate, &unit.ignore}) {
      if (auto broken = judge_bits(place, *words)) return broken;
    }
  }
  for (std::size_t i = 0; i < xid.nvlink_reasons.size(); ++i) {
    const std::string place = fmt::format("gpu.xid.nvlink_reasons.{}", i);
    if (auto broken = judge_bits(place, xid.nvlink_reasons[i].reasons)) return broken;
  }
  return judge_registers(xid);
}

}  // namespace

std::optional<BrokenLimit> find_broken_xid(const Profile& profile) {
  if (auto broken = judge_rules("gpu.xid", profile.gpu->xid)) return broken;
  if (auto broken = judge_nvlink(profile.gpu->xid)) return broken;
  return judge_rules("gpu.sxid", profile.gpu->sxid);
}

}  // namespace muster
