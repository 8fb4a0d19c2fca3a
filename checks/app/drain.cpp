// SPDX-License-Identifier: Apache-2.0
// `muster drain` and `muster resume`: an admin's word.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "checks/app/command.hpp"
#include "checks/app/slurm_commands.hpp"
#include "checks/app/slurm_site.hpp"
#include "checks/app/telling.hpp"
#include "lib/base/text.hpp"
#include "slurm/drains/admin.hpp"

namespace muster::app {
namespace {

// Whom sudo or the login knows.
std::string user_of(const World& world) {
  const auto sudo = world.variables.find("SUDO_USER");
  if (sudo != world.variables.end() && !sudo->second.empty()) return sudo->second;
  return user_name(::getuid());
}

using Carry = Result<std::vector<slurm::AdminAnswer>> (*)(const slurm::AdminOrder&,
                                                          slurm::Controller&,
                                                          slurm::History*);

// None in a dry run, which writes nothing, and none where it cannot be written: that keeps no admin
// from a node, whose disk may be what is wrong.
std::unique_ptr<slurm::History> open_history(const std::filesystem::path& folder,
                                             bool dry_run,
                                             const World& world) {
  if (dry_run) return nullptr;
  auto history = slurm::History::open(history_file(folder));
  if (history) return std::make_unique<slurm::History>(*std::move(history));
  world.console.note(fmt::format("muster: {}", history.error().message));
  return nullptr;
}

template <class Command>
int carry(const Command& command, const std::string& text, const World& world, Carry carry_out) {
  const auto rules = read_rules(command.root, world.variables);
  if (!rules) return fail(world, bad_configuration(rules.error()).value());
  const auto folder = state_folder(command.state, command.root);
  if (folder.empty()) {
    return fail(world, undecided(Error{"below --root this needs --state for the history"}).value());
  }
  const auto history = open_history(folder, command.dry_run, world);
  const auto controller = reach_slurm(*rules, world.variables, Clock::time_point::max());
  if (!controller) return fail(world, undecided(controller.error()).value());
  const auto answers = carry_out({.nodes = command.nodes,
                                  .user = user_of(world),
                                  .text = text,
                                  .now = wall_time(),
                                  .dry_run = command.dry_run,
                                  .tell = tell_syslog},
                                 **controller,
                                 history.get());
  if (!answers) return fail(world, undecided(answers.error()).value());
  std::string lines;
  for (const auto& answer : *answers) {
    lines.append(fmt::format("{}: {}\n", printable(answer.node, 100), answer.what));
  }
  const bool all = std::ranges::all_of(*answers, &slurm::AdminAnswer::done);
  return deliver(world, "", lines, all ? kExitHealthy : kExitUnhealthy);
}

}  // namespace

int run_drain(const DrainCommand& command, const World& world) {
  return carry(command, command.reason, world, slurm::drain_nodes);
}

int run_resume(const ResumeCommand& command, const World& world) {
  return carry(command, "", world, slurm::resume_nodes);
}

}  // namespace muster::app
