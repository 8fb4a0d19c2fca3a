// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/slurm_site.hpp"

#include <fmt/format.h>
#include <pwd.h>

#include <utility>

#include "lib/base/clock.hpp"
#include "lib/choice/choice.hpp"
#include "lib/process/child.hpp"
#include "lib/profile/site.hpp"

namespace muster::app {

Result<slurm::Rules> read_rules(std::string_view root, const Variables& variables) {
  slurm::Rules rules;
  TRY(read_slurm_block(sources_of(variables, root, {}), rules, slurm::check_values));
  return rules;
}

std::filesystem::path state_folder(const std::string& state, std::string_view root) {
  if (!state.empty()) return state;
  return root == "/" ? "/var/lib/muster" : std::filesystem::path();
}

std::filesystem::path history_file(const std::filesystem::path& folder) {
  return folder / "events.jsonl";
}

std::string below_root(std::string_view root, std::string_view file) {
  const auto below = std::filesystem::path(file).relative_path();
  return (std::filesystem::path(root) / below).lexically_normal().string();
}

HookCommand with_site(HookCommand command, const slurm::Rules& rules) {
  if (command.nhc_conf.empty() && !rules.nhc_conf.empty()) {
    command.nhc_conf = below_root(command.root, rules.nhc_conf);
  }
  return command;
}

Result<std::unique_ptr<slurm::Controller>> reach_slurm(const slurm::Rules& rules,
                                                       const Variables& variables,
                                                       Clock::time_point end) {
  TRY_ASSIGN(auto installation, slurm::find_installation(rules, variables));
  return slurm::make_controller(std::move(installation),
                                {.deadline = to_duration(rules.controller_deadline), .end = end});
}

Attempt<Site> reach_site(std::string_view root, const Caller& caller) {
  auto rules = read_rules(root, caller.variables);
  if (!rules) return bad_configuration(rules.error());
  auto controller = reach_slurm(*rules, caller.variables, Clock::time_point::max());
  if (!controller) return undecided(controller.error());
  return Site{*std::move(rules), *std::move(controller)};
}

std::string user_name(::uid_t user) {
  constexpr auto kLongest = std::chrono::seconds(2);
  // In a child, because a directory server may not answer.
  const auto name = ask_child("user", kLongest, [user] {
    const auto* entry = ::getpwuid(user);  // NOLINT(concurrency-mt-unsafe): one thread
    return entry == nullptr ? std::string() : std::string(entry->pw_name);
  });
  return name && !name->empty() ? *name : fmt::format("{}", user);
}

}  // namespace muster::app
