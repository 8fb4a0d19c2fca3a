// SPDX-License-Identifier: Apache-2.0
// `muster drain` and `muster resume`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/process/startup.hpp"
#include "slurm/commands/drain_confirmed.hpp"
#include "slurm/commands/slurm_commands.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "slurm/drains/admin.hpp"
#include "slurm/tell/tell.hpp"

namespace muster::app {
namespace {

// Returns the admin's own user, even under sudo.
std::string user_of(const Caller& caller) {
  auto user = value_of(caller.variables, "SUDO_USER");
  return user.empty() ? user_name(::getuid()) : user;
}

using Carry = std::function<Result<std::vector<slurm::AdminAnswer>>(
    const slurm::AdminRequest&, slurm::Controller&, slurm::History*)>;

// Null in a dry run, and if it cannot be written: a broken disk must not stop an admin.
std::unique_ptr<slurm::History> open_history(const std::filesystem::path& folder, bool dry_run,
                                             const Caller& caller) {
  if (dry_run) return nullptr;
  auto history = slurm::History::open(history_file(folder));
  if (history) return std::make_unique<slurm::History>(*std::move(history));
  caller.console.note(fmt::format("muster: {}", history.error().message));
  return nullptr;
}

// Runs the site's program. An admin does not wait long for it, however many nodes there are.
void run_sites_program(const slurm::TellRules& rules, const std::vector<slurm::Event>& events,
                       slurm::History* history, const Caller& caller) {
  constexpr std::chrono::seconds kLongest{30};
  const auto told = slurm::tell_site(rules, events, Clock::now() + kLongest);
  if (told) return;
  const slurm::Event event{.at = wall_time(),
                           .node = events.front().node,
                           .kind = "trouble",
                           .context = "admin",
                           .message = told.error().message};
  if (history != nullptr) static_cast<void>(history->add(event));
  log_event(event);
  caller.console.note(fmt::format("muster: {}", event.message));
}

// The services of an admin's command. The history is null if it cannot be written.
struct DrainServices {
  slurm::Rules rules;
  std::unique_ptr<slurm::History> history;
  std::unique_ptr<slurm::Controller> controller;
};

template <class Command>
Attempt<DrainServices> services_of(const Command& command, const Caller& caller) {
  auto rules = read_rules(command.root, caller.variables);
  if (!rules) return bad_configuration(rules.error());
  const auto folder = state_folder(command.state, command.root);
  if (folder.empty()) return undecided(Error{"with --root this needs --state for the history"});
  auto history = open_history(folder, command.dry_run, caller);
  auto controller = reach_slurm(*rules, caller.variables, Clock::time_point::max());
  if (!controller) return undecided(controller.error());
  return DrainServices{*std::move(rules), std::move(history), *std::move(controller)};
}

template <class Command>
int carry(const Command& command, const std::string& text, const Caller& caller,
          const Carry& carry_out) {
  const auto services = services_of(command, caller);
  if (!services) return fail(caller, services.error());
  std::vector<slurm::Event> events;
  const auto answers = carry_out({.nodes = command.nodes,
                                  .user = user_of(caller),
                                  .text = text,
                                  .now = wall_time(),
                                  .dry_run = command.dry_run,
                                  .tell =
                                      [&](const slurm::Event& event) {
                                        log_event(event);
                                        events.push_back(event);
                                      }},
                                 *services->controller, services->history.get());
  run_sites_program(services->rules.tell, events, services->history.get(), caller);
  if (!answers) return fail(caller, undecided(answers.error()).value());
  std::string lines;
  for (const auto& answer : *answers) {
    lines.append(fmt::format("{}: {}\n", printable(answer.node, 100), answer.what));
  }
  const bool all = std::ranges::all_of(*answers, &slurm::AdminAnswer::done);
  return deliver(caller, "", lines, all ? kExitHealthy : kExitUnhealthy);
}

Result<Report> read_report(const std::string& file) {
  constexpr std::size_t kLargest = 64UL << 20U;
  std::string text;
  if (file == "-") {
    if (read_all(STDIN_FILENO, text, kLargest) != 0) {
      return make_error("cannot read the report from standard input");
    }
  } else {
    TRY_ASSIGN(text, Root().read(std::filesystem::absolute(file).string(), kLargest));
  }
  auto report = parse_report(text);
  if (report) return report;
  return make_error(fmt::format("{}: {}", file == "-" ? "standard input" : printable(file),
                                printable(report.error().message, 200)));
}

// Drains the nodes that a benchmark accuses, by the rules of a hook.
int drain_reported(const DrainCommand& command, const Caller& caller) {
  const auto report = read_report(command.report);
  if (!report) return fail(caller, undecided(report.error()).value());
  if (report->accused.empty()) {
    caller.console.note("muster: the report accuses no node");
    return kExitHealthy;
  }
  const auto services = services_of(command, caller);
  if (!services) return fail(caller, services.error());
  const auto names = services->controller->names();
  if (!names) return fail(caller, undecided(names.error()).value());
  std::string lines;
  std::vector<slurm::Event> events;
  const bool all = drain_accused(*report, *names, services->rules,
                                 {.controller = services->controller.get(),
                                  .history = services->history.get(),
                                  .tell =
                                      [&](const slurm::Event& event) {
                                        if (!command.dry_run) log_event(event);
                                        lines += to_line(event);
                                        events.push_back(event);
                                      }},
                                 command.dry_run);
  if (!command.dry_run)
    run_sites_program(services->rules.tell, events, services->history.get(), caller);
  return deliver(caller, "", lines, all ? kExitHealthy : kExitUnhealthy);
}

}  // namespace

int run_drain(const DrainCommand& command, const Caller& caller) {
  if (!command.report.empty()) return drain_reported(command, caller);
  return carry(command, command.reason, caller, slurm::drain_nodes);
}

int run_resume(const ResumeCommand& command, const Caller& caller) {
  if (!command.check.empty()) {
    return carry(command, "", caller, [&](const auto& request, auto& controller, auto* history) {
      auto answers = slurm::accept_drains(request, command.check, controller, history);
      if (answers && answers->empty()) {
        caller.console.note(
            fmt::format("muster: no node is drained for {}", printable(command.check, 80)));
      }
      return answers;
    });
  }
  return carry(command, "", caller, slurm::resume_nodes);
}

}  // namespace muster::app
