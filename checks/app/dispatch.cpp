// SPDX-License-Identifier: Apache-2.0
// From what the command line asks for to the command, within its deadline.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <tuple>

#include "checks/app/commands.hpp"
#include "checks/app/hook_check.hpp"
#include "checks/app/observe_node.hpp"
#include "lib/base/clock.hpp"
#include "lib/process/process.hpp"
#include "lib/report/report.hpp"
#include "slurm/commands/check_setup.hpp"
#include "slurm/commands/hook.hpp"

namespace muster::app {
namespace {

// The last resort: a library's exception that nobody expected is not the node's fault.
int guarded(const Caller& caller, const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return fail(caller, {.status = kExitUndecided,
                         .message = fmt::format("internal error: {}", error.what())});
  }
}

// The commands that reach for the machine, or for files of the caller's choice, can hang.
template <class Work>
int in_time(const Caller& caller, std::optional<Seconds> allowed, const Work& work,
            Input input = Input::none) {
  const auto deadline =
      caller.started + (allowed ? to_duration(*allowed) : Clock::duration(kDefaultDeadline));
  return pass_on(supervise(
      caller.started, deadline,
      [&](Deadline& shared) { return guarded(caller, [&] { return work(shared); }); }, input));
}

// The commands that take as long as they take.
constexpr std::tuple kAtOnce{&run_list,   &run_validate, &run_drain,  &run_resume,
                             &run_status, &run_history,  &run_events, &run_hostfile};

struct Run {
  const Caller& caller;

  // What libraries ask the environment for is not there for a hook, either.
  [[nodiscard]] int check_setup(const HookCommand& command) const {
    const Seconds budget{static_cast<double>(kCheckSetupBudget.count())};
    return in_time(caller, budget, [&](Deadline& deadline) {
      ::clearenv();
      return run_check_setup(command, caller, deadline, check_node);
    });
  }

  int operator()(const SayCommand& command) const {
    return deliver(caller, "", command.text, kExitHealthy);
  }

  int operator()(const CheckCommand& command) const {
    const bool replay = !command.snapshots.empty();
    const auto work = [&](Deadline& deadline) {
      return replay ? run_replay(command, caller) : run_check(command, caller, deadline);
    };
    // A fleet of snapshots takes as long as it takes, unless a deadline is asked for.
    if (replay && !command.deadline) {
      return guarded(caller, [&] { return run_replay(command, caller); });
    }
    return in_time(caller, command.deadline, work, replay ? Input::kept : Input::none);
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

  // Whoever reads what a hook says, or does not, changes nothing about its status.
  int operator()(const HookCommand& command) const {
    if (command.check_setup) return check_setup(command);
    constexpr auto kLongest = std::chrono::milliseconds(700);
    const auto run =
        supervise(caller.started, caller.started + kHookBudget, [&](Deadline& deadline) {
          deadline.answer_if_lost(kHookPassed);
          const int ended = guarded(
              caller, [&] { return run_hook(command, caller, deadline, check_node, sweep_node); });
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
    const auto run = std::get<int (*)(const Command&, const Caller&)>(kAtOnce);
    return guarded(caller, [&] { return run(command, caller); });
  }

  // The folder with the results may be on a file server that does not answer.
  int operator()(const SweepCommand& command) const {
    const Seconds budget{static_cast<double>(kSweepBudget.count())};
    return in_time(caller, budget,
                   [&](Deadline& deadline) { return run_sweep(command, caller, deadline); });
  }
};

}  // namespace

int run(const Invocation& invocation, const Caller& caller) {
  return std::visit(Run{caller}, invocation);
}

}  // namespace muster::app
