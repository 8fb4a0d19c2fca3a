// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/drain_cause.hpp"

#include "slurm/policy/reason.hpp"
#include "slurm/policy/remembering.hpp"

namespace muster::slurm {
DrainCause cause_of(const NodeState& node) {
  if (const auto memory = memory_of_drain(node)) {
    return {.check = memory->check,
            .device = memory->device,
            .remedy = parse_remedy(memory->remedy).value_or(Remedy::reseat_or_replace),
            .accepted = memory->accepted};
  }
  const auto parts = parse_reason(node.reason);
  if (!parts) return {};
  return {.check = parts->check, .device = parts->device, .remedy = parts->remedy};
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

}  // namespace muster::slurm
