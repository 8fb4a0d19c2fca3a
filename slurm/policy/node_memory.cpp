// SPDX-License-Identifier: Apache-2.0

#include "slurm/policy/node_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::slurm {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kForm = "muster";  // the key that marks the line as muster's; 1 is this form
constexpr std::string_view kEarlierForm = "muster/1";

std::int64_t to_number(Time at) { return at.time_since_epoch().count(); }

Time to_time(const Json& json) {
  constexpr std::uint64_t kLast = 253402300799;  // of the year 9999
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > kLast) return {};
  return Time(std::chrono::seconds(json.get<std::int64_t>()));
}

template <class T>
struct Field {
  const char* key;
  T NodeMemory::*member;
};

constexpr std::array kTexts{Field<std::string>{"check", &NodeMemory::check},
                            Field<std::string>{"device", &NodeMemory::device},
                            Field<std::string>{"boot", &NodeMemory::boot},
                            Field<std::string>{"last_boot", &NodeMemory::last_boot},
                            Field<std::string>{"reason", &NodeMemory::reason},
                            Field<std::string>{"machine", &NodeMemory::machine},
                            Field<std::string>{"admin", &NodeMemory::admin},
                            Field<std::string>{"drained_by", &NodeMemory::drained_by}};
constexpr std::array kCounts{Field<int>{"clean", &NodeMemory::clean},
                             Field<int>{"gpus", &NodeMemory::gpus}};
constexpr std::array kFlags{
    Field<bool>{"settled", &NodeMemory::settled}, Field<bool>{"accepted", &NodeMemory::accepted},
    Field<bool>{"overruled", &NodeMemory::overruled}, Field<bool>{"new", &NodeMemory::is_new}};

const Json& value_at(const Json& json, const char* key) {
  static const Json kNull;
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}

std::string text_at(const Json& json, const char* key) {
  const auto& value = value_at(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}

// Empty unless it is a list.
const Json& list_at(const Json& json, const char* key) {
  static const Json kNone = Json::array();
  const auto& value = value_at(json, key);
  return value.is_array() ? value : kNone;
}

int to_count(const Json& json) {
  constexpr std::uint64_t kMaxCount = std::numeric_limits<int>::max() - 1;
  return json.is_number_unsigned()
             ? static_cast<int>(std::min(json.get<std::uint64_t>(), kMaxCount))
             : 0;
}

bool is_gpu(std::string_view part) { return part.starts_with("GPU-"); }

bool share_a_part(std::span<const std::string> some, std::span<const std::string> others) {
  return std::ranges::any_of(some, [&](const std::string& part) {
    return std::ranges::find(others, part) != others.end();
  });
}

std::string hash_of(std::string_view reason) { return short_hash(without_reboot(reason)); }

std::vector<Time> counted_drains(const NodeState& node, const Rules& rules, Time now,
                                 std::optional<Time> without) {
  auto times = parse_node_memory(node.memory).value_or(NodeMemory()).drains;
  const auto since = now - whole(rules.flap_window);
  std::erase_if(times, [&](Time at) { return at <= since || at == without; });
  std::ranges::sort(times, std::greater{});
  return times;
}

}  // namespace

std::string to_text(const NodeMemory& memory) {
  Json json{{kForm, 1}};
  for (const auto& [key, text] : kTexts) {
    if (!(memory.*text).empty()) json[key] = printable(memory.*text, 80);
  }
  if (memory.remedy != Remedy::none) json["remedy"] = to_string(memory.remedy);
  if (memory.at != Time{}) json["at"] = to_number(memory.at);
  for (const auto& [key, count] : kCounts) {
    if (memory.*count != 0) json[key] = memory.*count;
  }
  for (const auto& [key, flag] : kFlags) {
    if (memory.*flag) json[key] = true;
  }
  if (!memory.hardware.empty()) json["hardware"] = memory.hardware;
  for (const auto at : memory.drains) {
    if (json["drains"].size() < kMaxDrains) json["drains"].push_back(to_number(at));
  }
  if (memory.refused) {
    json["refused"] = {{"at", to_number(memory.refused->at)},
                       {"check", printable(memory.refused->check, 80)},
                       {"device", printable(memory.refused->device, 80)}};
  }
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::optional<NodeMemory> parse_node_memory(std::string_view text) {
  if (!text.starts_with('{')) return std::nullopt;
  const auto json = Json::parse(text, nullptr, false);
  if (!json.is_object() || value_at(json, kForm) != 1) return std::nullopt;
  NodeMemory memory{.at = to_time(value_at(json, "at"))};
  for (const auto& [key, member] : kTexts) memory.*member = text_at(json, key);
  for (const auto& [key, member] : kCounts) memory.*member = to_count(value_at(json, key));
  for (const auto& [key, member] : kFlags) memory.*member = value_at(json, key) == true;
  // An unknown remedy becomes the one that needs an admin to resume the node.
  if (const auto remedy = text_at(json, "remedy"); !remedy.empty()) {
    memory.remedy = parse_word<Remedy>(remedy).value_or(Remedy::reseat_or_replace);
  }
  for (const auto& part : list_at(json, "hardware")) {
    if (part.is_string()) memory.hardware.push_back(part.get<std::string>());
  }
  for (const auto& at : list_at(json, "drains")) {
    if (memory.drains.size() < kMaxDrains && to_time(at) != Time{}) {
      memory.drains.push_back(to_time(at));
    }
  }
  if (const auto& refused = value_at(json, "refused"); refused.is_object()) {
    memory.refused = {to_time(value_at(refused, "at")), text_at(refused, "check"),
                      text_at(refused, "device")};
  }
  return memory;
}

bool may_remember(const NodeState& node) {
  return trim(node.memory).empty() || node.memory.starts_with(kEarlierForm) ||
         parse_node_memory(node.memory);
}

std::string why_not_remembered(const NodeState& node, const Rules& rules) {
  if (rules.memory == "none") return "memory: none in muster.yaml, so clean runs are not counted";
  if (may_remember(node)) return "";
  return fmt::format("the node's field in Slurm (memory: {}) holds text that muster did not write",
                     rules.memory);
}

std::string short_hash(std::string_view text) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("{:08x}", hash);
}

std::vector<std::string> hash_hardware(std::string_view identity) {
  auto parts = split_words(identity);
  // clang 14 does not compile std::ranges::stable_partition.
  std::stable_partition(parts.begin(), parts.end(), is_gpu);
  std::vector<std::string> hashes;
  for (const auto part : parts) hashes.push_back(short_hash(part));
  return hashes;
}

int count_gpus(std::string_view identity) {
  return static_cast<int>(std::ranges::count_if(split_words(identity), is_gpu));
}

std::string hash_machine(std::string_view machine) {
  return machine.empty() ? "" : fmt::format("{}{}", machine.front(), short_hash(machine));
}

bool is_other_host(const NodeMemory& drain, std::string_view identity, std::string_view machine) {
  const auto now = hash_hardware(identity);
  const auto gpus = static_cast<std::size_t>(count_gpus(identity));
  const auto gpus_before = std::min(static_cast<std::size_t>(drain.gpus), drain.hardware.size());
  if (gpus > 0 && gpus_before > 0) {
    return !share_a_part(std::span(drain.hardware).first(gpus_before), std::span(now).first(gpus));
  }
  if (!now.empty() && !drain.hardware.empty()) return !share_a_part(drain.hardware, now);
  const auto hash = hash_machine(machine);
  return !hash.empty() && !drain.machine.empty() && hash.front() == drain.machine.front() &&
         hash != drain.machine;
}

bool lost_its_reason(const NodeState& node) {
  return trim(without_reboot(node.reason)).empty() &&
         standing_apart_from_power(node) == Standing::drained;
}

std::optional<NodeMemory> memory_of_drain(const NodeState& node) {
  auto memory = parse_node_memory(node.memory);
  if (!memory || memory->check.empty() || memory->overruled) return std::nullopt;
  if (lost_its_reason(node)) return memory;
  if (!is_ours(node.reason) || memory->reason != hash_of(node.reason)) return std::nullopt;
  return memory;
}

NodeMemory shown_drain(const NodeState& node) {
  if (auto memory = memory_of_drain(node)) return *std::move(memory);
  auto parts = parse_reason(node.reason);
  if (!parts) return {};
  auto drains = parse_node_memory(node.memory).value_or(NodeMemory()).drains;
  return {.check = std::move(parts->check),
          .device = std::move(parts->device),
          .remedy = parts->remedy,
          .at = node.since.value_or(Time{}),
          .drains = std::move(drains)};
}

std::optional<NodeMemory> own_drain(const NodeState& node) {
  if (standing_apart_from_power(node) == Standing::in_service) return std::nullopt;
  if (auto memory = memory_of_drain(node)) return memory;
  const auto memory = parse_node_memory(node.memory);
  if (memory && !memory->check.empty()) return std::nullopt;  // its reason was replaced
  if (node.user != "root" && node.user != "slurm") return std::nullopt;
  auto shown = shown_drain(node);
  return shown.check.empty() ? std::nullopt : std::optional(std::move(shown));
}

bool was_drained_by_us(const NodeState& node) {
  if (is_kept_out(node) || standing_apart_from_power(node) == Standing::in_service) return false;
  return !shown_drain(node).check.empty();
}

bool is_kept_out(const NodeState& node) {
  if (standing_apart_from_power(node) == Standing::in_service) return false;
  if (without_reboot(node.reason) == kNewNode) return true;
  if (!lost_its_reason(node)) return false;
  const auto memory = parse_node_memory(node.memory);
  return memory && memory->is_new;
}

std::optional<Time> drained_since(const NodeState& node) {
  if (node.since) return node.since;
  const auto memory = memory_of_drain(node);
  return memory && memory->at != Time{} ? std::optional(memory->at) : std::nullopt;
}

bool needs_repair(Remedy remedy) {
  return remedy == Remedy::reseat_or_replace || remedy == Remedy::report_to_provider;
}

std::string memory_while(const NodeState& node, NodeMemory drain, std::string_view reason,
                         const Rules& rules, Time now) {
  if (!without_reboot(reason).empty()) drain.reason = hash_of(reason);
  drain.drains = counted_drains(node, rules, now, drain.at);
  drain.drains.push_back(drain.at);
  std::ranges::sort(drain.drains, std::greater{});
  drain.refused.reset();
  drain.is_new = drain.overruled = false;
  drain.drained_by.clear();
  return to_text(drain);
}

std::string memory_after(const NodeState& node, const Rules& rules, Time now,
                         std::optional<Time> without) {
  const NodeMemory memory{.drains = counted_drains(node, rules, now, without)};
  return memory.drains.empty() ? "" : to_text(memory);
}

std::string memory_refused(const NodeState& node, const Rules& rules, Time now, Refusal refused) {
  return to_text(
      {.drains = counted_drains(node, rules, now, std::nullopt), .refused = std::move(refused)});
}

}  // namespace muster::slurm
