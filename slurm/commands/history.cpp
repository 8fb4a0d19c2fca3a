// SPDX-License-Identifier: Apache-2.0
// `muster history` and `muster events`.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <system_error>
#include <thread>

#include "lib/base/clock.hpp"
#include "slurm/commands/slurm_commands.hpp"
#include "slurm/commands/slurm_site.hpp"

namespace muster::app {
namespace {

constexpr std::chrono::seconds kLook{1};  // between two looks for new events

template <class Command>
slurm::EventFilter filter_of(const Command& command) {
  slurm::EventFilter filter{.nodes = command.nodes};
  if (command.since) {
    filter.since =
        wall_time() - std::chrono::seconds(static_cast<std::int64_t>(command.since->value));
  }
  return filter;
}

// Prints the events of the filter, and moves the filter past them.
int print(const slurm::History& history, slurm::EventFilter& filter, EventForm form,
          const Caller& caller) {
  const auto events = history.events(filter);
  if (!events) return fail(caller, undecided(events.error()).value());
  std::string lines;
  for (const auto& event : *events) {
    lines.append(form == EventForm::json ? to_json_line(event) : to_line(event));
    filter.after_id = event.id;
  }
  return lines.empty() ? kExitHealthy : deliver(caller, "", lines, kExitHealthy);
}

Attempt<slurm::History> open(const std::string& state) {
  auto history = slurm::History::read(history_file(state_folder(state, "/")));
  if (history) return *std::move(history);
  std::error_code failure;
  const bool fresh = state.empty() || std::filesystem::is_directory(state, failure);
  if (!history.error().missing || !fresh) return undecided(history.error());
  // A node on which muster has done nothing yet is not an error.
  return tl::unexpected<Failure>(
      Failure{.status = kExitHealthy,
              .message = fmt::format("nothing has happened yet: {}", history.error().message)});
}

}  // namespace

int run_history(const HistoryCommand& command, const Caller& caller) {
  const auto history = open(command.state);
  if (!history) return fail(caller, history.error());
  auto filter = filter_of(command);
  filter.kinds = {"drained", "resumed",  "undone",    "released", "worsened",
                  "stopped", "accepted", "confirmed", "cleared"};
  return print(*history, filter, command.form, caller);
}

int run_events(const EventsCommand& command, const Caller& caller) {
  const auto history = open(command.state);
  if (!history) return fail(caller, history.error());
  auto filter = filter_of(command);
  for (;;) {
    const int status = print(*history, filter, command.form, caller);
    if (!command.follow || status != kExitHealthy) return status;
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace muster::app
