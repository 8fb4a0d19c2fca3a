// SPDX-License-Identifier: Apache-2.0
// `muster sweep`: benchmarks idle nodes in rotation, one pass per call.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"
#include "lib/profile/choice.hpp"
#include "slurm/commands/drain_confirmed.hpp"
#include "slurm/commands/slurm_commands.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "slurm/sweeps/sweep_pass.hpp"
#include "slurm/tell/tell.hpp"

namespace muster::app {
namespace {

constexpr std::chrono::seconds kReserve{5};  // for the last messages

std::string random_token() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}", source(), source());
}

// Why this user may not use the history; empty if it may. The jobs in the history belong to the
// owner of the file, and squeue may hide other users' jobs.
std::string wrong_user(const std::filesystem::path& history, bool root_may_sweep) {
  const auto self = ::geteuid();
  struct stat status = {};
  if (::stat(history.c_str(), &status) == 0 && status.st_uid != self) {
    const auto owner = printable(user_name(status.st_uid), 100);
    const auto file = printable(history.string());
    if (status.st_uid != 0) {
      return fmt::format("{} belongs to another user: run it as {}", file, owner);
    }
    return fmt::format("{} belongs to root, which ran a pass: chown -R {} {}", file,
                       user_name(self), printable(history.parent_path().string()));
  }
  if (self != 0 || root_may_sweep) return "";
  return "a sweep does not need root, and its jobs would run as root: run it as a user that may "
         "submit jobs, or set slurm.sweep.as_root: true in muster.yaml";
}

bool is_confirmed(const slurm::SweepStanding& standing) {
  return standing.trust == slurm::Trust::confirmed;
}

class Sweep {
 public:
  Sweep(const SweepCommand& command, const Caller& caller, Deadline& deadline)
      : command_(command), caller_(caller), deadline_(deadline) {}

  int run() {
    const auto status = try_run();
    return status ? *status : fail(caller_, status.error());
  }

 private:
  Attempt<int> try_run() {
    const auto rules = read_rules(command_.root, caller_.variables);
    if (!rules) return bad_configuration(rules.error());
    rules_ = *rules;
    if (rules_.sweep.results.empty()) {
      return bad_configuration(
          Error{"slurm.sweep.results in muster.yaml must name a folder that nodes and this machine "
                "share"});
    }
    if (rules_.sweep.script.empty()) {
      rules_.sweep.script = (data_folder(caller_.variables) / "jobs/sweep.sbatch").string();
    }
    const auto folder = state_folder(command_.state, command_.root);
    if (!folder) return undecided(folder.error());
    const auto file = history_file(*folder);
    if (auto why = wrong_user(file, rules_.sweep.as_root); !why.empty()) {
      return bad_configuration(Error{std::move(why)});
    }
    if (const auto opened = open_history(file); !opened) return undecided(opened.error());
    const auto only = changes() ? is_only_pass(*folder) : true;
    if (!only) return undecided(only.error());
    return *only ? pass() : kExitHealthy;
  }

  [[nodiscard]] bool changes() const { return !command_.dry_run && !command_.status; }

  Result<void> open_history(const std::filesystem::path& file) {
    auto history = changes() ? slurm::History::open(file) : slurm::History::read(file);
    if (history) {
      history_.emplace(*std::move(history));
      return {};
    }
    // No pass has run yet.
    if (!changes() && history.error().missing) return {};
    return tl::unexpected(history.error());
  }

  // Two passes at once would plan the same jobs.
  Result<bool> is_only_pass(const std::filesystem::path& folder) {
    const auto file = folder / "sweep.lock";
    lock_ = try_lock(file);
    if (lock_.holder == ProcessLock::Holder::ours) return true;
    if (lock_.holder == ProcessLock::Holder::unknown) {
      return make_error(fmt::format("{} cannot be opened", file.string()));
    }
    if (lock_.age > 2 * kSweepBudget) {
      return make_error(fmt::format("another pass has not ended in {} s", lock_.age.count()));
    }
    caller_.console.note("muster: another pass of the sweep is running");
    return false;
  }

  Attempt<int> pass() {
    const auto end = deadline_.when() - kReserve;
    const auto installation = slurm::find_installation(rules_, caller_.variables);
    if (!installation) return undecided(installation.error());
    const slurm::CallLimits limits{.deadline = to_duration(rules_.controller_deadline), .end = end};
    const auto controller = slurm::make_controller(*installation, limits);
    const auto queue = slurm::make_queue(*installation, limits);
    if (!queue) return undecided(queue.error());
    const slurm::SweepServices services{
        .controller = controller.get(),
        .queue = queue->get(),
        .history = history_ ? &*history_ : nullptr,
        .token = random_token,
        .report_event = [this](const slurm::Event& event) { report(event); }};
    const slurm::SweepRequest request{
        .rules = rules_.sweep, .now = wall_time(), .dry_run = command_.dry_run};
    const auto result =
        command_.status ? slurm::sweep_status(request, services) : slurm::sweep(request, services);
    if (!command_.status && rules_.sweep.drain) drain(result, *controller, end);
    return answer(result);
  }

  void drain(const slurm::SweepResult& result, slurm::Controller& controller,
             Clock::time_point end) {
    drain_confirmed(
        result.standings, rules_,
        {.controller = &controller,
         .history = history_ ? &*history_ : nullptr,
         .tell =
             [this](const slurm::Event& event) {
               log_event(event);
               print(event);
               drains_.push_back(event);
             },
         .left =
             [end] {
               return std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
             }},
        command_.dry_run);
    if (command_.dry_run) return;
    const auto told = slurm::tell_site(rules_.tell, drains_, end);
    if (!told) caller_.console.note(fmt::format("muster: {}", told.error().message));
  }

  void report(const slurm::Event& event) {
    if (event.kind == "confirmed" || event.kind == "cleared" || event.kind == "trouble") {
      log_event(event);
    }
    print(event);
  }

  // Prints at once, since a later step may take until the deadline.
  void print(const slurm::Event& event) {
    print(command_.form == EventForm::json ? to_json_line(event) : to_line(event));
  }

  void print(std::string_view text) {
    if (const auto printed = caller_.console.out(text); !printed) output_lost_ = true;
  }

  Attempt<int> answer(const slurm::SweepResult& answer) {
    if (!answer.bad_rules.empty()) return bad_configuration(Error{answer.bad_rules});
    if (!answer.trouble.empty()) return undecided(Error{answer.trouble});
    if (command_.status) show(answer.standings);
    if (output_lost_) return kExitUndecided;
    const bool confirmed = std::ranges::any_of(answer.standings, is_confirmed);
    return confirmed ? kExitUnhealthy : kExitHealthy;
  }

  void show(const std::vector<slurm::SweepStanding>& standings) {
    for (const auto& standing : standings) {
      if (command_.form == EventForm::json) {
        print(to_json_line(standing));
      } else if (standing.overdue || standing.trust >= slurm::Trust::suspect) {
        print(to_line(standing));
      }
    }
    if (command_.form == EventForm::text) summarize(standings);
  }

  void summarize(const std::vector<slurm::SweepStanding>& standings) {
    for (const auto& kind : rules_.sweep.kinds) {
      std::size_t nodes = 0;
      std::size_t overdue = 0;
      std::map<slurm::Trust, std::size_t> trusted;
      for (const auto& standing : standings) {
        if (standing.kind != kind) continue;
        ++nodes;
        overdue += standing.overdue ? 1 : 0;
        ++trusted[standing.trust];
      }
      print(fmt::format("{}: {}, {} of them not swept within {}; {} suspect, {} confirmed\n", kind,
                        counted(static_cast<std::uint64_t>(nodes), "node"), overdue,
                        to_string(rules_.sweep.every), trusted[slurm::Trust::suspect],
                        trusted[slurm::Trust::confirmed]));
      if (nodes > 1 && trusted[slurm::Trust::suspect] == nodes) {
        print(fmt::format("{}: all nodes fail: look at the limit and at what they share\n", kind));
      }
    }
  }

  const SweepCommand& command_;
  const Caller& caller_;
  Deadline& deadline_;
  slurm::Rules rules_;
  std::optional<slurm::History> history_;
  ProcessLock lock_;
  bool output_lost_ = false;
  std::vector<slurm::Event> drains_;
};

}  // namespace

int run_sweep(const SweepCommand& command, const Caller& caller, Deadline& deadline) {
  return Sweep(command, caller, deadline).run();
}

}  // namespace muster::app
