// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/own_drain.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::slurm {
namespace {

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

std::optional<NodeMemory> memory_of_drain(const NodeState& node) {
  auto memory = parse_node_memory(node.memory);
  if (!memory || memory->check.empty() || !is_ours(node.reason)) return std::nullopt;
  if (memory->reason != hash_of(node.reason)) return std::nullopt;
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
  if (standing_of(node) == Standing::in_service) return std::nullopt;
  if (auto memory = memory_of_drain(node)) return memory;
  const auto memory = parse_node_memory(node.memory);
  if (memory && !memory->check.empty()) return std::nullopt;  // another reason was put over it
  if (node.user != "root" && node.user != "slurm") return std::nullopt;
  auto shown = shown_drain(node);
  return shown.check.empty() ? std::nullopt : std::optional(std::move(shown));
}

bool was_drained_by_us(const NodeState& node) {
  return is_ours(node.reason) && !is_kept_out(node) && standing_of(node) != Standing::in_service;
}

bool is_kept_out(const NodeState& node) {
  return without_reboot(node.reason) == kNewNode && standing_of(node) != Standing::in_service;
}

bool needs_repair(Remedy remedy) {
  return remedy == Remedy::reseat_or_replace || remedy == Remedy::report_to_provider;
}

std::string memory_while(const NodeState& node, NodeMemory drain, std::string_view reason,
                         const Rules& rules, Time now) {
  drain.reason = hash_of(reason);
  drain.drains = counted_drains(node, rules, now, drain.at);
  drain.drains.push_back(drain.at);
  std::ranges::sort(drain.drains, std::greater{});
  drain.refused.reset();
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
