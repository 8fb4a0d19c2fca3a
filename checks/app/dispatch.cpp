// SPDX-License-Identifier: Apache-2.0
// Runs a command within its deadline.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <tuple>

#include "checks/app/inspect.hpp"
#include "lib/process/process.hpp"
#include "lib/process/program.hpp"
#include "repair/after_hook.hpp"
#include "slurm/commands/check_setup.hpp"

namespace muster::app {
namespace {

// An unexpected exception of a library says nothing about the node.
int guarded(const Caller& caller, const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return fail(caller, {.status = kExitUndecided,
                         .message = fmt::format("internal error: {}", error.what())});
  }
}

// Runs a command that can hang: on the machine, or on files that the caller names.
template <class Work>
Supervised supervised(const Caller& caller, std::optional<Seconds> allowed, const Work& work,
                      Input input = Input::none) {
  const auto deadline =
      caller.started + (allowed ? to_duration(*allowed) : Clock::duration(kDefaultDeadline));
  return supervise(
      caller.started, deadline,
      [&](Deadline& shared) { return guarded(caller, [&] { return work(shared); }); }, input);
}

template <class Work>
int in_time(const Caller& caller, std::optional<Seconds> allowed, const Work& work) {
  return pass_on(supervised(caller, allowed, work));
}

// node-problem-detector reads standard output only.
std::string line_for_npd(std::string_view message) {
  return fmt::format("{}\n", printable(message, kNpdOutput - 1));
}

// The commands without a deadline.
constexpr std::tuple kUnlimited{
    &run_list,   &run_validate,
    &run_drain,  &run_resume,
    &run_status, &run_history,
    &run_events, &run_hostfile,
    &run_agent,  &run_accept,
    &run_repair, &run_evidence,
    &run_claim,  static_cast<int (*)(const FleetCommand&, const Caller&)>(&run_fleet)};

struct CommandRunner {
  const Caller& caller;

  // Clears the environment, as slurmd does for a hook.
  [[nodiscard]] int check_setup(const HookCommand& command) const {
    const Seconds budget{static_cast<double>(kCheckSetupBudget.count())};
    return in_time(caller, budget, [&](Deadline& deadline) {
      ::clearenv();
      return run_check_setup(command, caller, deadline, check_node);
    });
  }

  int operator()(const PrintCommand& command) const {
    return deliver(caller, "", command.text, kExitHealthy);
  }

  int operator()(const CheckCommand& command) const {
    const bool replay = !command.snapshots.empty();
    const auto work = [&](Deadline& deadline) {
      return replay ? run_replay(command, caller) : run_check(command, caller, deadline);
    };
    // A fleet of snapshots has no default deadline.
    if (replay && !command.deadline) {
      return status_in(command.format,
                       guarded(caller, [&] { return run_replay(command, caller); }));
    }
    auto run = supervised(caller, command.deadline, work, replay ? Input::kept : Input::none);
    if (is_for_npd(command.format) && run.out.empty() && command.output.empty()) {
      run.out = line_for_npd(run.lost.empty() ? last_line(run.err) : run.lost);
    }
    return status_in(command.format, pass_on(run));
  }

  int operator()(const SnapshotCommand& command) const {
    return in_time(caller, command.deadline,
                   [&](Deadline& deadline) { return run_snapshot(command, caller, deadline); });
  }

  int operator()(const ExplainCommand& command) const {
    return in_time(caller, std::nullopt,
                   [&](Deadline& deadline) { return run_explain(command, caller, deadline); });
  }

  int operator()(const ProfilesCommand& command) const {
    if (command.make.empty()) return guarded(caller, [&] { return run_profiles(command, caller); });
    return in_time(caller, std::nullopt,
                   [&](Deadline& deadline) { return run_make_profile(command, caller, deadline); });
  }

  // The status of a hook does not depend on whether its output can be written.
  int operator()(const HookCommand& command) const {
    if (command.check_setup) return check_setup(command);
    constexpr auto kLongest = std::chrono::milliseconds(700);
    const auto run =
        supervise(caller.started, caller.started + kHookBudget, [&](Deadline& deadline) {
          deadline.answer_if_lost(kHookPassed);
          const int ended = guarded(caller, [&] {
            return run_hook(command, caller, deadline, check_node, sweep_node,
                            [&](const HookCommand& hook, const HookedNode& node) {
                              start_after_hook(hook, node, caller);
                            });
          });
          return ended == kHookPassed || ended == kHookFailed ? ended : deadline.if_lost();
        });
    static_cast<void>(write_in_time(STDOUT_FILENO, run.out + run.err, Clock::now() + kLongest));
    if (!run.lost.empty()) {
      const auto line = fmt::format("{}\n", run.lost);
      static_cast<void>(write_in_time(STDERR_FILENO, line, Clock::now() + kLongest));
      report_lost_hook(command, caller, run.lost);
    }
    reap_children();
    return run.status == kHookFailed ? kHookFailed : kHookPassed;
  }

  template <class Command>
  int operator()(const Command& command) const {
    const auto run = std::get<int (*)(const Command&, const Caller&)>(kUnlimited);
    return guarded(caller, [&] { return run(command, caller); });
  }

  // The folder of results may be on a file server that does not answer.
  int operator()(const SweepCommand& command) const {
    const Seconds budget{static_cast<double>(kSweepBudget.count())};
    return in_time(caller, budget,
                   [&](Deadline& deadline) { return run_sweep(command, caller, deadline); });
  }
};

}  // namespace

bool wants_host(const Invocation& invocation) {
  return std::visit(
      [](const auto& command) {
        if constexpr (requires { command.host; }) return command.host;
        return false;
      },
      invocation);
}

int refuse(const Invocation& invocation, const Caller& caller, const Error& error) {
  const int status = fail(caller, undecided(error).value());
  const auto* const check = std::get_if<CheckCommand>(&invocation);
  if (check == nullptr || !is_for_npd(check->format)) return status;
  return status_in(check->format, deliver(caller, "", line_for_npd(error.message), status));
}

int run(const Invocation& invocation, const Caller& caller) {
  return std::visit(CommandRunner{caller}, invocation);
}

}  // namespace muster::app
