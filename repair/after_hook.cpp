// SPDX-License-Identifier: Apache-2.0
#include "repair/after_hook.hpp"

#include <fmt/format.h>

#include "lib/process/program.hpp"
#include "lib/profile/choice.hpp"
#include "repair/evidence.hpp"
#include "repair/rules.hpp"
#include "slurm/commands/slurm_site.hpp"

namespace muster::app {

void start_after_hook(const HookCommand& command, const HookedNode& node, const Caller& caller) {
  if (node.was_drained) {
    const auto started = start_evidence(command.root, node.name, caller.variables);
    if (!started) log_warning(started.error().message);
  }
  const bool is_due = node.was_resumed || (node.is_drained && !node.was_drained);
  if (!is_due || command.context != "periodic") return;
  const auto rules =
      repair::read_repair_rules(sources_of(caller.variables, command.root, {}), command.root);
  if (!rules) return log_warning(rules.error().message);
  if (rules->automatic.empty()) return;
  std::vector<std::string> words{"repair",      node.name, "--go",
                                 "--automatic", "--root",  command.root};
  if (!command.state.empty()) words.insert(words.end(), {"--state", command.state});
  const auto started = start_detached("/proc/self/exe", words, caller.variables);
  if (!started) log_warning(started.error().message);
}

}  // namespace muster::app
