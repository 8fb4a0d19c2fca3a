// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/drain_cause.hpp"

#include <array>
#include <string_view>

#include "slurm/cluster/node_memory.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::slurm {
namespace {

// Of "muster: ib.rate mlx5_ib5: …" and of "muster: host.limits: …".
std::string check_in(std::string_view reason) {
  reason.remove_prefix(kOurs.size());
  return std::string(reason.substr(0, reason.find_first_of(": ")));
}

Remedy remedy_in(std::string_view reason) {
  constexpr std::array kAll{Remedy::watch,
                            Remedy::restart_app,
                            Remedy::reset_gpu,
                            Remedy::restart_service,
                            Remedy::reboot,
                            Remedy::reseat_or_replace,
                            Remedy::fix_config,
                            Remedy::report_to_provider};
  for (const auto remedy : kAll) {
    const auto words = describe(remedy);
    if (!words.empty() && reason.ends_with(words)) return remedy;
  }
  return Remedy::none;
}

}  // namespace

DrainCause cause_of(const NodeState& node) {
  if (!is_ours(node.reason)) return {};
  DrainCause cause{.check = check_in(node.reason), .remedy = remedy_in(node.reason)};
  const auto memory = parse_node_memory(node.memory);
  if (!memory || memory->check != cause.check) return cause;
  cause.remedy = parse_remedy(memory->remedy).value_or(cause.remedy);
  cause.accepted = memory->accepted;
  return cause;
}

bool was_drained_by_us(const NodeState& node) {
  return is_ours(node.reason) && standing_of(node) != Standing::in_service;
}

bool needs_repair(Remedy remedy) {
  return remedy == Remedy::reseat_or_replace || remedy == Remedy::report_to_provider;
}

}  // namespace muster::slurm
