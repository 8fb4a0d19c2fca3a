// SPDX-License-Identifier: Apache-2.0
// `muster status`: the state of the cluster, by one question to Slurm.
#include "slurm/status/status.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "lib/base/clock.hpp"
#include "slurm/commands/slurm_commands.hpp"
#include "slurm/commands/slurm_site.hpp"

namespace muster::app {

int run_status(const StatusCommand& command, const Caller& caller) {
  const auto site = reach_site(command.root, caller);
  if (!site) return fail(caller, site.error());
  const auto& [rules, controller] = *site;
  const auto cluster = controller->nodes("");
  if (!cluster) return fail(caller, undecided(cluster.error()).value());
  const auto folder = state_folder(command.state, command.root);
  auto history = folder.empty() ? make_error("with --root this needs --state")
                                : slurm::History::read(history_file(folder));
  auto status =
      slurm::status_of(*cluster, command.nodes, rules, wall_time(), history ? &*history : nullptr);
  if (!history && !history.error().missing) status.history = history.error().message;
  const auto text =
      command.form == EventForm::json ? slurm::to_json(status) : slurm::to_text(status, rules);
  return deliver(caller, "", text, kExitHealthy);
}

}  // namespace muster::app
