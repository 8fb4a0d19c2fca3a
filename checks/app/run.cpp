// SPDX-License-Identifier: Apache-2.0
// From what the command line asks for to the command, within its deadline.
#include <fmt/format.h>

#include <exception>
#include <optional>

#include "checks/app/command.hpp"
#include "checks/app/examine.hpp"
#include "checks/app/hook.hpp"
#include "lib/base/clock.hpp"
#include "lib/report/report.hpp"

namespace muster::app {
namespace {

// The last resort: a library's exception that nobody expected is not the node's fault.
int guarded(const World& world, const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return fail(
        world,
        {.status = kExitUndecided, .message = fmt::format("internal error: {}", error.what())});
  }
}

// The commands that reach for the machine, or for files of the caller's choice, can hang.
template <class Work>
int in_time(const World& world, std::optional<Seconds> allowed, const Work& work) {
  const auto deadline =
      world.started + (allowed ? to_duration(*allowed) : Clock::duration(kDefaultDeadline));
  return supervise(
      world.started,
      deadline,
      [&](Deadline& shared) { return guarded(world, [&] { return work(shared); }); },
      world.console.note);
}

struct Run {
  const World& world;

  int operator()(const SayCommand& command) const {
    return deliver(world, "", command.text, kExitHealthy);
  }

  int operator()(const CheckCommand& command) const {
    // A fleet of snapshots takes as long as it takes, unless a deadline is asked for.
    const bool replay = !command.snapshots.empty();
    if (replay && !command.deadline)
      return guarded(world, [&] { return run_replay(command, world); });
    return in_time(world, command.deadline, [&](Deadline& deadline) {
      return replay ? run_replay(command, world) : run_check(command, world, deadline);
    });
  }

  int operator()(const SnapshotCommand& command) const {
    return in_time(world, command.deadline, [&](Deadline& deadline) {
      return run_snapshot(command, world, deadline);
    });
  }

  int operator()(const ListCommand& command) const {
    return guarded(world, [&] { return run_list(command, world); });
  }

  int operator()(const ExplainCommand& command) const {
    return in_time(world, std::nullopt, [&](Deadline& deadline) {
      return run_explain(command, world, deadline);
    });
  }

  int operator()(const ProfilesCommand& command) const {
    return guarded(world, [&] { return run_profiles(command, world); });
  }

  // What is lost on the way passes: see run_hook.
  int operator()(const HookCommand& command) const {
    const int status = supervise(
        world.started,
        world.started + kHookBudget,
        [&](Deadline& deadline) {
          deadline.answer_if_lost(kHookPassed);
          return guarded(world, [&] { return run_hook(command, world, deadline); });
        },
        world.console.note);
    return status == kHookFailed ? kHookFailed : kHookPassed;
  }

  int operator()(const DrainCommand& command) const {
    return guarded(world, [&] { return run_drain(command, world); });
  }

  int operator()(const ResumeCommand& command) const {
    return guarded(world, [&] { return run_resume(command, world); });
  }

  int operator()(const HistoryCommand& command) const {
    return guarded(world, [&] { return run_history(command, world); });
  }

  int operator()(const EventsCommand& command) const {
    return guarded(world, [&] { return run_events(command, world); });
  }

  int operator()(const HostfileCommand& command) const {
    return guarded(world, [&] { return run_hostfile(command, world); });
  }
};

}  // namespace

int fail(const World& world, const Failure& failure) {
  if (!failure.message.empty()) world.console.note(fmt::format("muster: {}", failure.message));
  return failure.status;
}

int deliver(
    const World& world, const std::string& file, std::string_view text, int status, unsigned mode) {
  const auto written = [&]() -> Result<void> {
    auto destination = Destination::open(world.console, file, mode);
    if (!destination) return tl::unexpected(destination.error());
    if (auto sent = destination->write(text); !sent) return sent;
    return destination->finish();
  }();
  return written ? status : fail(world, undecided(written.error()).value());
}

int run(const Invocation& invocation, const World& world) {
  return std::visit(Run{world}, invocation);
}

}  // namespace muster::app
