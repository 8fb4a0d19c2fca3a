// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/node_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <limits>

#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

constexpr std::string_view kForm = "muster/1";
constexpr std::string_view kNone = "-";
constexpr std::size_t kLongestValue = 80;
constexpr std::size_t kLongestRest = 400;

bool is_plain(char c) {
  const auto letter = static_cast<unsigned char>(c);
  return letter < 0x80 && (std::isalnum(letter) != 0 ||
                           std::string_view("._:/,+@-").find(c) != std::string_view::npos);
}

std::string to_value(std::string_view text) {
  std::string value(text.substr(0, kLongestValue));
  std::ranges::replace_if(
      value, [](char c) { return !is_plain(c); }, '_');
  return value.empty() ? std::string(kNone) : value;
}

std::string to_number(Time at) { return fmt::format("{}", at.time_since_epoch().count()); }

std::vector<Time> parse_times(std::string_view text) {
  std::vector<Time> times;
  for (const auto each : split(text, ',')) {
    if (const auto at = parse_time(each); at && times.size() < kMostDrains) times.push_back(*at);
  }
  return times;
}

bool take_refusal(NodeMemory& memory, std::string_view key, std::string_view value) {
  if (!key.starts_with("refused")) return false;
  auto refused = memory.refused.value_or(Refusal());
  const auto text = value == kNone ? std::string() : std::string(value);
  if (key == "refused") {
    refused.at = parse_time(value).value_or(Time{});
  } else if (key == "refused_check") {
    refused.check = text;
  } else if (key == "refused_device") {
    refused.device = text;
  } else {
    return false;
  }
  memory.refused = refused;
  return true;
}

// Whether the key is one that this muster knows.
bool take(NodeMemory& memory, std::string_view key, std::string_view value) {
  const auto text = value == kNone ? std::string() : std::string(value);
  if (key == "check") {
    memory.check = text;
  } else if (key == "device") {
    memory.device = text;
  } else if (key == "remedy") {
    memory.remedy = text;
  } else if (key == "boot") {
    memory.boot = text;
  } else if (key == "at") {
    memory.at = parse_time(value).value_or(Time{});
  } else if (key == "clean") {
    constexpr std::uint64_t kMost = std::numeric_limits<int>::max() - 1;
    memory.clean = static_cast<int>(std::min(parse_unsigned(value).value_or(0), kMost));
  } else if (key == "drains") {
    memory.drains = parse_times(value);
  } else if (key == "hardware") {
    for (const auto part : split(text, ',')) {
      if (!part.empty()) memory.hardware.emplace_back(part);
    }
  } else if (key == "reason") {
    memory.reason = text;
  } else if (key == "accepted") {
    memory.accepted = value == "yes";
  } else {
    return take_refusal(memory, key, value);
  }
  return true;
}

}  // namespace

std::string to_text(const NodeMemory& memory) {
  auto text = std::string(kForm);
  const auto add = [&](std::string_view key, std::string_view value) {
    text.append(fmt::format(" {}={}", key, value));
  };
  if (!memory.check.empty()) {
    add("check", to_value(memory.check));
    add("device", to_value(memory.device));
    add("remedy", to_value(memory.remedy));
    add("at", to_number(memory.at));
    add("boot", to_value(memory.boot));
  }
  add("clean", fmt::format("{}", memory.clean));
  std::vector<std::string> times;
  for (const auto at : memory.drains) {
    if (times.size() < kMostDrains) times.push_back(to_number(at));
  }
  if (!times.empty()) add("drains", fmt::format("{}", fmt::join(times, ",")));
  if (!memory.hardware.empty()) add("hardware", fmt::format("{}", fmt::join(memory.hardware, ",")));
  if (!memory.reason.empty()) add("reason", to_value(memory.reason));
  if (memory.accepted) add("accepted", "yes");
  if (memory.refused) {
    add("refused", to_number(memory.refused->at));
    add("refused_check", to_value(memory.refused->check));
    add("refused_device", to_value(memory.refused->device));
  }
  if (!memory.more.empty()) text.append(fmt::format(" {}", memory.more));
  return text;
}

std::optional<NodeMemory> parse_node_memory(std::string_view text) {
  const auto words = split_words(text);
  if (words.empty() || words.front() != kForm) return std::nullopt;
  NodeMemory memory;
  for (const auto word : words) {
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    if (take(memory, word.substr(0, equals), word.substr(equals + 1))) continue;
    const bool is_known_form =
        std::ranges::all_of(word, [](char c) { return is_plain(c) || c == '='; });
    if (!is_known_form || memory.more.size() + word.size() > kLongestRest) continue;
    memory.more.append(memory.more.empty() ? "" : " ").append(word);
  }
  return memory;
}

bool may_remember(const NodeState& node) {
  return trim(node.memory).empty() || parse_node_memory(node.memory);
}

std::string short_hash(std::string_view text) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("{:08x}", hash);
}

std::vector<std::string> hash_hardware(std::string_view identity) {
  std::vector<std::string> hashes;
  for (const auto part : split_words(identity)) hashes.push_back(short_hash(part));
  return hashes;
}

}  // namespace muster::slurm
