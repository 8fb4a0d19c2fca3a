// SPDX-License-Identifier: Apache-2.0
// `muster drain` and `muster resume`.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"
#include "slurm/commands/drain_confirmed.hpp"
#include "slurm/commands/slurm_commands.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "slurm/drains/admin.hpp"
#include "slurm/tell/tell.hpp"

namespace muster::app {
namespace {

// Null in a dry run, or if it cannot be written: a broken disk must not stop an admin.
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

// The services of an admin's command, and its output.
struct AdminRun {
  Site site;
  std::unique_ptr<slurm::History> history;
  std::vector<slurm::Event> events;
  std::string lines;
};

// Calls `work`, which returns whether everything was done, with a function that reports an event.
template <class Command, class Work>
int run_as_admin(const Command& command, const Caller& caller, const Work& work) {
  const auto folder = state_folder(command.state, command.root);
  if (!folder) return fail(caller, undecided(folder.error()).value());
  auto history = open_history(*folder, command.dry_run, caller);
  auto site = reach_site(command.root, caller);
  if (!site) return fail(caller, site.error());
  AdminRun run{.site = *std::move(site), .history = std::move(history)};
  const auto report = [&](const slurm::Event& event) {
    if (!command.dry_run) log_event(event);
    run.events.push_back(event);
  };
  const Result<bool> done = work(run, report);
  if (!command.dry_run) {
    run_sites_program(run.site.rules.tell, run.events, run.history.get(), caller);
  }
  if (!done) return fail(caller, undecided(done.error()).value());
  return deliver(caller, "", run.lines, *done ? kExitHealthy : kExitUnhealthy);
}

// `change` is one of the functions of admin.hpp.
template <class Command, class Change>
int change_nodes(const Command& command, const std::string& text, const Caller& caller,
                 const Change& change) {
  return run_as_admin(command, caller, [&](AdminRun& run, const auto& report) -> Result<bool> {
    const slurm::AdminRequest request{.nodes = command.nodes,
                                      .user = user_behind_sudo(caller.variables),
                                      .text = text,
                                      .now = wall_time(),
                                      .rules = run.site.rules,
                                      .dry_run = command.dry_run,
                                      .tell = report};
    TRY_ASSIGN(const auto answers, change(request, *run.site.controller, run.history.get()));
    for (const auto& answer : answers) {
      run.lines += fmt::format("{}: {}\n", printable(answer.node, 100), answer.what);
    }
    return std::ranges::all_of(answers, &slurm::AdminAnswer::done);
  });
}

// An error unless the file is a report that may accuse nodes. To try again would not help.
Attempt<Report> read_job_report(const std::string& file) {
  auto report = read_report(file);
  if (!report) return bad_configuration(report.error());
  if (!report->nodes.empty()) return *std::move(report);
  return bad_configuration({.message = fmt::format("{}: not the report of a job, expected one of "
                                                   "muster-bench locate",
                                                   printable(file))});
}

// Drains the nodes that a benchmark accuses, by the rules of a hook.
int drain_reported(const DrainCommand& command, const Caller& caller) {
  const auto report = read_job_report(command.report);
  if (!report) return fail(caller, report.error());
  if (report->accused.empty()) {
    caller.console.note("muster: the report names no node as the cause");
    return kExitHealthy;
  }
  return run_as_admin(command, caller, [&](AdminRun& run, const auto& log) -> Result<bool> {
    TRY_ASSIGN(const auto names, run.site.controller->names());
    return drain_accused(*report, names, run.site.rules,
                         {.controller = run.site.controller.get(),
                          .history = run.history.get(),
                          .tell =
                              [&](const slurm::Event& event) {
                                log(event);
                                run.lines += to_line(event);
                              }},
                         command.dry_run);
  });
}

}  // namespace

int run_drain(const DrainCommand& command, const Caller& caller) {
  if (!command.report.empty()) return drain_reported(command, caller);
  return change_nodes(command, command.reason, caller, slurm::drain_nodes);
}

int run_resume(const ResumeCommand& command, const Caller& caller) {
  if (command.check.empty()) return change_nodes(command, "", caller, slurm::resume_nodes);
  return change_nodes(
      command, "", caller, [&](const auto& request, auto& controller, auto* history) {
        auto answers = slurm::accept_drains(request, command.check, controller, history);
        if (answers && answers->empty()) {
          caller.console.note(
              fmt::format("muster: no node is drained for {}", printable(command.check, 80)));
        }
        return answers;
      });
}

}  // namespace muster::app
