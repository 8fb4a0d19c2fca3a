// SPDX-License-Identifier: Apache-2.0
// What the commands that talk to Slurm share: the site's rules, Slurm's programs, the history.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "lib/command/output.hpp"
#include "lib/process/startup.hpp"
#include "slurm/cluster/controller.hpp"
#include "slurm/commands/slurm_commands.hpp"
#include "slurm/history/history.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::app {

// The block `slurm` of muster.yaml below `root`.
[[nodiscard]] Result<slurm::Rules> read_rules(std::string_view root, const Variables& variables);

// The folder of the history: `state` where it is given, else that of this machine. Empty below a
// foreign root, from which nobody's history is written unasked.
[[nodiscard]] std::filesystem::path state_folder(const std::string& state, std::string_view root);
[[nodiscard]] std::filesystem::path history_file(const std::filesystem::path& folder);

// Where a file that muster.yaml names lies: below the root, as muster.yaml does.
[[nodiscard]] std::string below_root(std::string_view root, std::string_view file);

// The command as the site's rules complete it: judged by the site's configuration of NHC where the
// caller names none.
[[nodiscard]] HookCommand with_site(HookCommand command, const slurm::Rules& rules);

// All of its calls end by `end`.
[[nodiscard]] Result<std::unique_ptr<slurm::Controller>> reach_slurm(const slurm::Rules& rules,
                                                                     const Variables& variables,
                                                                     Clock::time_point end);

struct Site {
  slurm::Rules rules;
  std::unique_ptr<slurm::Controller> controller;
};

// The rules below `root`, and Slurm as they say where it is; its calls together have no time limit.
[[nodiscard]] Attempt<Site> reach_site(std::string_view root, const Caller& caller);

// What this machine calls a user; the number where it does not know it.
[[nodiscard]] std::string user_name(::uid_t user);

}  // namespace muster::app
