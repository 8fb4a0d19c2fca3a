// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/remembering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::slurm {
namespace {

std::string hash_of(std::string_view reason) { return short_hash(without_reboot(reason)); }

// The identity that was hashed: of what is there now its own words, of the rest the hashes.
std::string identity_of(const std::vector<std::string>& hardware, const std::string& present) {
  std::string identity;
  const auto words = split_words(present);
  for (const auto& hash : hardware) {
    const auto word = std::ranges::find_if(
        words, [&](std::string_view each) { return short_hash(each) == hash; });
    identity.append(identity.empty() ? "" : " ");
    identity.append(word == words.end() ? std::string_view(hash) : *word);
  }
  return identity;
}

std::vector<Time> counted(const Situation& situation, std::optional<Time> without) {
  std::vector<Time> times;
  const auto since = situation.now - whole(situation.rules.flap_window);
  for (const auto at : situation.drains) {
    if (at > since && at != without) times.push_back(at);
  }
  std::ranges::sort(times, std::ranges::greater{});
  return times;
}

NodeMemory kept_of(const NodeState& node) {
  const auto before = parse_node_memory(node.memory);
  return {.more = before ? before->more : std::string()};
}

}  // namespace

std::optional<NodeMemory> memory_of_drain(const NodeState& node) {
  auto memory = parse_node_memory(node.memory);
  if (!memory || memory->check.empty() || !is_ours(node.reason)) return std::nullopt;
  if (memory->reason != hash_of(node.reason)) return std::nullopt;
  return memory;
}

std::optional<OwnDrain> drain_of_memory(const NodeState& node, const std::string& identity) {
  const auto memory = memory_of_drain(node);
  if (!memory) return std::nullopt;
  // A word of another version is taken for the remedy after which nothing is resumed by itself.
  return OwnDrain{.reason = std::string(without_reboot(node.reason)),
                  .at = memory->at,
                  .confirmed = true,
                  .boot_id = memory->boot,
                  .identity = identity_of(memory->hardware, identity),
                  .check = memory->check,
                  .remedy = parse_remedy(memory->remedy).value_or(Remedy::reseat_or_replace),
                  .clean_runs = memory->clean};
}

std::optional<OwnDrain> drain_of_reason(const Situation& situation) {
  const auto& node = *situation.node;
  const auto memory = parse_node_memory(node.memory);
  if (memory && !memory->check.empty()) return std::nullopt;  // another reason was put over it
  if (node.user != "root" && node.user != "slurm") return std::nullopt;
  const auto parts = parse_reason(node.reason);
  if (!parts) return std::nullopt;
  return OwnDrain{.reason = std::string(without_reboot(node.reason)),
                  .at = node.since.value_or(situation.now),
                  .confirmed = true,
                  .boot_id = situation.boot_id,
                  .identity = situation.identity,
                  .check = parts->check,
                  .remedy = parts->remedy};
}

std::string memory_while(const Situation& situation, const OwnDrain& drain) {
  const auto& node = *situation.node;
  const auto standing = memory_of_drain(node);
  auto memory = standing ? *standing : kept_of(node);
  const auto parts = parse_reason(drain.reason);
  memory.check = drain.check;
  memory.device = parts && parts->check == drain.check ? parts->device : "";
  memory.remedy = to_string(drain.remedy);
  memory.at = drain.at;
  memory.boot = drain.boot_id;
  memory.clean = drain.clean_runs;
  memory.reason = hash_of(drain.reason);
  if (!standing) memory.hardware = hash_hardware(drain.identity);
  auto drains = counted(situation, drain.at);
  drains.push_back(drain.at);
  std::ranges::sort(drains, std::ranges::greater{});
  memory.drains = std::move(drains);
  return to_text(memory);
}

std::string memory_after(const Situation& situation, std::optional<Time> without) {
  auto memory = kept_of(*situation.node);
  memory.drains = counted(situation, without);
  return memory.drains.empty() && memory.more.empty() ? "" : to_text(memory);
}

std::string memory_refused(const Situation& situation, Refusal refused) {
  auto memory = kept_of(*situation.node);
  memory.drains = counted(situation, std::nullopt);
  memory.refused = std::move(refused);
  return to_text(memory);
}

std::vector<Time> merge_drains(std::vector<Time> some, const std::vector<Time>& more) {
  some.insert(some.end(), more.begin(), more.end());
  std::ranges::sort(some);
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return some;
}

}  // namespace muster::slurm
