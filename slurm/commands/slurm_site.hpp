// SPDX-License-Identifier: Apache-2.0
// Shared by the commands about Slurm: the site's rules, Slurm's programs, the history.
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

// The folder of the history: `state` if it is given, else this machine's. Empty with a foreign
// root.
[[nodiscard]] std::filesystem::path state_folder(const std::string& state, std::string_view root);
[[nodiscard]] std::filesystem::path history_file(const std::filesystem::path& folder);

// The path of a file that muster.yaml names: below the root, like muster.yaml.
[[nodiscard]] std::string below_root(std::string_view root, std::string_view file);

// The command with the site's NHC configuration, unless it names one.
[[nodiscard]] HookCommand with_site(HookCommand command, const slurm::Rules& rules);

// All of its calls end by `end`.
[[nodiscard]] Result<std::unique_ptr<slurm::Controller>> reach_slurm(const slurm::Rules& rules,
                                                                     const Variables& variables,
                                                                     Clock::time_point end);

struct Site {
  slurm::Rules rules;
  std::unique_ptr<slurm::Controller> controller;
};

// The rules below `root`, and the Slurm that they name; its calls have no common time limit.
[[nodiscard]] Attempt<Site> reach_site(std::string_view root, const Caller& caller);

// The name of a user, or the number if there is none.
[[nodiscard]] std::string user_name(::uid_t user);

}  // namespace muster::app
