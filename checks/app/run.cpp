// SPDX-License-Identifier: Apache-2.0
// From what the command line asks for to the command, within its deadline.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <optional>
#include <string>

#include "checks/app/command.hpp"
#include "checks/app/examine.hpp"
#include "checks/app/hook.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
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

std::string content_of(const Descriptor& memory) {
  struct stat status = {};
  if (::fstat(memory.get(), &status) != 0) return "";
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  const auto got = ::pread(memory.get(), content.data(), content.size(), 0);
  content.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return content;
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

  // slurmd waits until nobody holds the hook's output any more, so a child that hangs for ever must
  // not have it: it writes into memory.
  int operator()(const HookCommand& command) const {
    const Descriptor held(::memfd_create("muster hook", MFD_CLOEXEC));
    std::string lost;
    const int status = supervise(
        world.started,
        world.started + kHookBudget,
        [&](Deadline& deadline) {
          deadline.answer_if_lost(kHookPassed);
          ::dup2(held.get(), STDOUT_FILENO);
          ::dup2(held.get(), STDERR_FILENO);
          const int ended = guarded(world, [&] { return run_hook(command, world, deadline); });
          return ended == kHookPassed || ended == kHookFailed ? ended : deadline.if_lost();
        },
        [&](std::string_view message) { lost = message; });
    static_cast<void>(world.console.out(content_of(held)));
    if (lost.empty()) return status;
    world.console.note(lost);
    tell_of_lost_hook(command, world, lost);
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

  // The folder with the results may be on a file server that does not answer.
  int operator()(const SweepCommand& command) const {
    const Seconds budget{static_cast<double>(kSweepBudget.count())};
    return in_time(
        world, budget, [&](Deadline& deadline) { return run_sweep(command, world, deadline); });
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
