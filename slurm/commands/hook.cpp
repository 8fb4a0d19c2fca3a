// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/hook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/summary.hpp"
#include "slurm/commands/end_leftovers.hpp"
#include "slurm/commands/new_node.hpp"
#include "slurm/commands/process_lock.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "slurm/commands/syslog.hpp"
#include "slurm/commands/tell_user.hpp"
#include "slurm/drains/enforce.hpp"
#include "slurm/tell/tell.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;

// What Slurm calls this node, as far as nobody asks it.
std::string slurm_node(const Variables& variables) {
  auto name = value_of(variables, "SLURMD_NODENAME");
  return name.empty() ? std::string(without_domain(host_name())) : name;
}

// A sweep of each level, with time for what it says that it takes.
Clock::duration longest_sweep(std::string_view level) {
  if (level == "soak") return std::chrono::minutes(40);
  return level == "full" ? std::chrono::minutes(10) : std::chrono::minutes(3);
}

// Every step of one run of a hook.
class Hook {
 public:
  Hook(const HookCommand& command, const Caller& caller, Deadline& deadline,
       const CheckNode& check_node, const SweepNode& sweep_node)
      : command_(command),
        caller_(caller),
        deadline_(deadline),
        check_node_(check_node),
        sweep_node_(sweep_node),
        node_(slurm_node(caller.variables)) {}

  // The time that there is comes first: whatever is opened after that may hang.
  int run() {
    deadline_.move(caller_.started + budget());
    const auto rules = read_rules(command_.root, caller_.variables);
    if (rules) rules_ = *rules;
    deadline_.answer_if_lost(when_broken());
    deadline_.move(caller_.started + budget());
    const int status = run_by(rules);
    tell_the_site();
    return status;
  }

 private:
  int run_by(const Result<slurm::Rules>& rules) {
    const auto folder = state_folder(command_.state, command_.root);
    if (folder.empty()) return trouble("below --root a hook needs --state for its history");
    open_history(folder);
    if (!rules) return trouble(rules.error().message);
    if (command_.context == "periodic" && !command_.dry_run) {
      if (!is_only_health_check(folder)) return kHookPassed;
      wait_for_share_of_spread();
    }
    return check();
  }

  // Last, so that it costs nobody else's time. What it says of its own failure is told to nobody.
  void tell_the_site() {
    if (command_.dry_run) return;
    node_lock_ = {};
    const auto told = slurm::tell_site(rules_.tell, said_, deadline_.when() - kReserve);
    if (!told) static_cast<void>(trouble(told.error().message));
  }

  [[nodiscard]] std::string variable(const char* name) const {
    return value_of(caller_.variables, name);
  }

  [[nodiscard]] bool is_prolog() const { return command_.context == "prolog"; }

  [[nodiscard]] int when_broken() const {
    if (command_.dry_run) return kHookPassed;
    return rules_.on_trouble == "fail" ? kHookFailed : kHookPassed;
  }

  [[nodiscard]] Clock::duration budget() const {
    if (is_prolog()) return to_duration(rules_.prolog_budget);
    if (command_.context == "epilog") return to_duration(rules_.epilog_budget);
    return to_duration(rules_.health_budget);
  }

  void say(const slurm::Event& event) {
    // Slurm has heard it: whatever becomes of this run, the job must not start here.
    if (event.kind == "drained" && is_prolog()) deadline_.answer_if_lost(kHookFailed);
    if (!command_.dry_run) log_event(event);
    said_.push_back(event);
    // slurmd keeps it in its log where the hook fails; nobody may listen, and that is no trouble.
    static_cast<void>(caller_.console.out(fmt::format("muster: {}\n", slurm::summary(event))));
  }

  // Says it, and writes it to the history. What all events of this run have in common is added.
  void note(slurm::Event event) {
    event.at = wall_time();
    event.node = node_;
    event.context = command_.context;
    event.job = variable("SLURM_JOB_ID");
    if (history_ && !command_.dry_run) static_cast<void>(history_->add(event));
    say(event);
  }

  // muster's own fault, which is not the node's.
  int trouble(const std::string& message) {
    note({.kind = "trouble", .message = message});
    return when_broken();
  }

  // A dry run writes nothing: where there is no history, there is none.
  void open_history(const fs::path& folder) {
    const auto file = history_file(folder);
    auto history = command_.dry_run ? slurm::History::peek(file) : slurm::History::open(file);
    if (!history) {
      const bool none = command_.dry_run && history.error().missing;
      if (!none) static_cast<void>(trouble(history.error().message));
      return;
    }
    history_.emplace(*std::move(history));
    if (!history_->note().empty()) static_cast<void>(trouble(history_->note()));
  }

  // Health checks of Slurm overlap where one is slower than the interval.
  [[nodiscard]] bool is_only_health_check(const fs::path& folder) {
    lock_ = try_lock(folder / "health.lock");
    if (lock_.holder != ProcessLock::Holder::others)
      return true;  // the history has told of its folder
    if (lock_.age > 2 * to_duration(rules_.health_budget)) {
      static_cast<void>(
          trouble(fmt::format("another health check has not ended in {} s", lock_.age.count())));
    } else {
      caller_.console.note("muster: another health check of this node is running");
    }
    return false;
  }

  // All nodes are asked in the same second: each begins at its own time.
  void wait_for_share_of_spread() const {
    const auto spread =
        std::chrono::duration_cast<std::chrono::milliseconds>(to_duration(rules_.spread));
    if (spread.count() <= 0) return;
    const auto share = std::hash<std::string>{}(node_) % static_cast<std::size_t>(spread.count());
    std::this_thread::sleep_for(std::chrono::milliseconds(share));
  }

  // The check that the node is drained for, as far as the history knows; empty for none. A health
  // check runs it, too, whatever its context leaves out.
  [[nodiscard]] std::string drained_for() const {
    if (command_.context != "periodic" || !history_) return "";
    const auto drain = history_->drain_of(node_);
    return drain && *drain ? (*drain)->check : "";
  }

  // slurmd says which node this is. Where somebody else starts the hook, Slurm is asked: it may
  // call the node otherwise than the host is called, and another node as this host.
  void find_node() {
    if (!variable("SLURMD_NODENAME").empty()) return;
    const auto controller = reach_slurm(rules_, caller_.variables, deadline_.when() - kReserve);
    if (!controller) return;  // nor will it be reached later, and then it is said
    const auto found = (*controller)->names().and_then([](const auto& names) {
      return slurm::node_on(names, host_name());
    });
    if (found) {
      node_ = *found;
    } else {
      nameless_ = found.error().message;
    }
  }

  [[nodiscard]] Result<std::unique_ptr<slurm::Controller>> reach() const {
    if (!nameless_.empty()) return make_error(nameless_);
    return reach_slurm(rules_, caller_.variables, deadline_.when() - kReserve);
  }

  int check() {
    find_node();
    // What is left is for Slurm: two questions, an order, and a second and a half in between.
    const auto begin = Clock::now();
    const auto share = (deadline_.when() - begin) * 3 / 5;
    Deadline observing(begin + share);
    auto command = with_site(command_, rules_);
    // Nobody works on a new node, and a health check accepts it as well as the one after a boot.
    is_new_ = rules_.gate_new_nodes && history_ && is_new(*history_, node_);
    if (is_new_ && command.context == "periodic") command.context = "boot";
    command.tests = tests();
    command.tests_budget = rules_.tests_budget;
    const auto checked = check_and_test(command, observing);
    if (!checked) return trouble(checked.error().message);
    if (!end_leftovers(checked->left_on_gpus)) return act(*checked);
    Deadline again(Clock::now() + (deadline_.when() - Clock::now()) / 2);
    const auto clean = check_and_test(command, again);
    return act(clean ? *clean : *checked);
  }

  // A health check that accepts a new node has no time for them.
  [[nodiscard]] std::string tests() const {
    if (command_.context == "epilog") return rules_.epilog_tests;
    return command_.context == "boot" ? rules_.boot_tests : "";
  }

  // The hook's own time stands still while the tests run.
  Attempt<CheckedNode> check_and_test(const HookCommand& command, Deadline& observing) {
    const auto budget =
        command.tests.empty() ? Clock::duration{} : to_duration(command.tests_budget);
    const auto end = deadline_.when();
    deadline_.move(end + budget);
    auto checked = check_node_(command, drained_for(), caller_, observing);
    deadline_.move(end + (checked ? checked->tested : Clock::duration{}));
    return checked;
  }

  // Where the site says so, of the job's own user. Whether one of them is gone by now.
  bool end_leftovers(const std::vector<LeftOnGpus>& left) {
    const auto user = parse_unsigned(variable("SLURM_JOB_UID"));
    if (!rules_.end_leftovers || command_.context != "epilog" || !user) return false;
    std::vector<unsigned> pids;
    for (const auto& each : left) {
      if (each.user == *user) pids.push_back(each.pid);
    }
    if (pids.empty()) return false;
    const auto several = pids.size() == 1 ? "" : "es";
    const auto left_by_job = fmt::format("process{} {} of user {}, which the job left on its GPUs",
                                         several, fmt::join(pids, ", "), *user);
    if (command_.dry_run) {
      note({.kind = "dry_run", .message = fmt::format("would end {}", left_by_job)});
      return false;
    }
    constexpr std::chrono::seconds kUntilTheDriverLetsGo{3};
    const auto gone = end_processes(
        static_cast<unsigned>(*user), pids,
        std::min(Clock::now() + kUntilTheDriverLetsGo, deadline_.when() - 2 * kReserve));
    note({.kind = "ended",
          .message = gone.size() == pids.size()
                         ? fmt::format("ended {}", left_by_job)
                         : fmt::format("killed {}: {} of {} will not die", left_by_job,
                                       pids.size() - gone.size(), pids.size())});
    return !gone.empty();
  }

  // The time that a sweep takes is its own: what comes after it has what was left before.
  Result<Report> sweep() {
    const auto left = deadline_.when() - Clock::now();
    const auto until = Clock::now() + longest_sweep(rules_.gate_sweep);
    deadline_.move(until + left);
    auto swept = sweep_node_(command_, rules_.gate_sweep, caller_, until);
    deadline_.move(Clock::now() + left);
    return swept;
  }

  Gate keep_gate_for(const CheckedNode& checked, slurm::Controller& controller) {
    GateServices services{.controller = &controller,
                          .history = &*history_,
                          .note = [this](slurm::Event event) { note(std::move(event)); },
                          .reach = [this] { return reach(); }};
    // A health check has no time for it: the hook of the boot has.
    const bool may_sweep = command_.context == "boot" && sweep_node_ && !command_.dry_run;
    if (may_sweep) services.sweep = [this] { return sweep(); };
    return keep_gate({.name = node_,
                      .boot_id = checked.boot_id,
                      .report = &checked.report,
                      .accepts = command_.context == "boot" || command_.context == "periodic",
                      .needs_sweep = rules_.gate_sweep != "none",
                      .dry_run = command_.dry_run},
                     services);
  }

  int act(const CheckedNode& checked) {
    auto controller = reach();
    if (is_new_ && controller && !checked.boot_id.empty()) {
      const auto gate = keep_gate_for(checked, **controller);
      if (gate == Gate::others) return kHookPassed;
      if (gate == Gate::closed) return hold_back("the node is new, and not accepted yet", true);
      controller = reach();  // a sweep took the other's time
    }
    std::optional<Report> of_drained;
    const auto judge_again = [&](const slurm::OwnDrain& drain) {
      return &of_drained.emplace(checked.judge_drained(drain.check));
    };
    slurm::HookRequest request{.report = &checked.report,
                               .node = node_,
                               .context = command_.context,
                               .job = variable("SLURM_JOB_ID"),
                               .boot_id = checked.boot_id,
                               .identity = checked.identity,
                               .rules = rules_,
                               .dry_run = command_.dry_run};
    // What an epilog drained for would pass in a health check, which looks beside running jobs.
    if (command_.context == "periodic") request.judge_drained = judge_again;
    const auto enforced = slurm::enforce(
        request, {.controller = controller ? controller->get() : nullptr,
                  .trouble = controller ? std::string() : controller.error().message,
                  .history = history_ ? &*history_ : nullptr,
                  .tell = [&](const slurm::Event& event) { say(event); },
                  .exclude_others = [&] { return exclude_others(); },
                  .ask_again = [&] { slurm::History::forget_boots(history_file(folder())); },
                  .left = [&] { return time_left(); }});
    if (enforced.events.empty()) {
      const auto why = enforced.out_of_reach ? enforced.decision.why
                       : command_.dry_run    ? why_unreachable(controller)
                                             : std::string();
      if (!why.empty()) say_unreachable(why, checked.boot_id);
    }
    static_cast<void>(
        caller_.console.out(fmt::format("muster: {}\n", one_line(*enforced.report, kLongestLine))));
    return answer(checked.report, enforced);
  }

  [[nodiscard]] fs::path folder() const { return state_folder(command_.state, command_.root); }

  // Prologs, epilogs and health checks of one node act one after another. What is waited leaves as
  // much time again for what is to be done.
  std::string exclude_others() {
    const auto begin = Clock::now();
    node_lock_ = wait_for_lock(folder() / "node.lock", begin + time_left() / 2);
    if (node_lock_.holder != ProcessLock::Holder::others) return "";  // the history has told of it
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin);
    return fmt::format(
        "another hook of this node has not ended in {} s: this one goes on beside it",
        waited.count());
  }

  // For a first look: Slurm is asked though nothing is to be done. Empty where it answers.
  [[nodiscard]] std::string why_unreachable(
      const Result<std::unique_ptr<slurm::Controller>>& controller) const {
    if (!controller) return controller.error().message;
    const auto nodes = (*controller)->nodes(node_);
    return nodes ? "" : nodes.error().message;
  }

  // An installation that never reaches Slurm must not wait for the first sick node to say so: it
  // does once in each boot.
  void say_unreachable(const std::string& why, const std::string& boot_id) {
    constexpr std::string_view kUnreachable = "Slurm could not be asked: ";
    if (history_ && !command_.dry_run) {
      const auto earlier = history_->events({.nodes = {node_}, .kinds = {"trouble"}});
      const bool was_said =
          earlier && std::ranges::any_of(*earlier, [&](const slurm::Event& each) {
            return each.boot_id == boot_id && each.message.starts_with(kUnreachable);
          });
      if (was_said) return;
    }
    note(
        {.kind = "trouble", .message = fmt::format("{}{}", kUnreachable, why), .boot_id = boot_id});
  }

  // For Slurm: what comes after has its own.
  [[nodiscard]] std::chrono::milliseconds time_left() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(deadline_.when() - kReserve -
                                                                 Clock::now());
  }

  // Only a prolog can hold a job back, and Slurm drains a node whose prolog fails: where muster did
  // not drain it, the site's share of drains would be no limit.
  int answer(const Report& report, const slurm::HookResult& enforced) const {
    if (!is_prolog() || !enforced.decision.sick) return kHookPassed;
    return hold_back(one_line(report, kLongestLine), enforced.drained);
  }

  // Tells the job's user what is wrong. `refused`: the job does not start here.
  [[nodiscard]] int hold_back(std::string what, bool refused) const {
    if (!is_prolog() || command_.dry_run) return kHookPassed;
    const auto until =
        std::min(Clock::now() + std::chrono::seconds(4), deadline_.when() - kReserve);
    const auto told = tell_user({.node = node_, .what = std::move(what), .starts = !refused},
                                rules_, caller_.variables, until);
    if (!told) {
      caller_.console.note(
          fmt::format("muster: the job's user is not told: {}", told.error().message));
    }
    return refused ? kHookFailed : kHookPassed;
  }

  static constexpr std::size_t kLongestLine = 300;
  static constexpr std::chrono::milliseconds kReserve{300};

  const HookCommand& command_;
  const Caller& caller_;
  Deadline& deadline_;
  const CheckNode& check_node_;
  const SweepNode& sweep_node_;
  std::string node_;      // as Slurm calls it
  std::string nameless_;  // why Slurm did not say so, where it was asked
  slurm::Rules rules_;
  bool is_new_ = false;  // the site wants new nodes accepted, and this is one
  std::optional<slurm::History> history_;
  ProcessLock lock_, node_lock_;  // of health checks, and of all hooks of this node
  std::vector<slurm::Event> said_;
};

}  // namespace

int run_hook(const HookCommand& command, const Caller& caller, Deadline& deadline,
             const CheckNode& check_node, const SweepNode& sweep_node) {
  return Hook(command, caller, deadline, check_node, sweep_node).run();
}

void report_lost_hook(const HookCommand& command, const Caller& caller, std::string_view message) {
  if (command.dry_run) return;
  log_warning(std::string(message));
  const auto folder = state_folder(command.state, command.root);
  if (folder.empty()) return;
  constexpr auto kLongest = std::chrono::milliseconds(500);
  // What took the hook may take this, too.
  static_cast<void>(ask_child("history", kLongest, [&] {
    auto history = slurm::History::open(history_file(folder));
    if (!history) return history.error().message;
    const auto added = history->add({.at = wall_time(),
                                     .node = slurm_node(caller.variables),
                                     .kind = "trouble",
                                     .context = command.context,
                                     .message = std::string(message)});
    return added ? std::string() : added.error().message;
  }));
}

}  // namespace muster::app
