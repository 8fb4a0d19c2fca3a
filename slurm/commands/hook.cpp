// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/hook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/files.hpp"
#include "lib/base/host_name.hpp"
#include "lib/process/child.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/format.hpp"
#include "lib/report/summary.hpp"
#include "slurm/commands/new_node.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "slurm/drains/enforce.hpp"
#include "slurm/policy/node_memory.hpp"
#include "slurm/tell/tell.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;
using ControllerResult = Result<std::unique_ptr<slurm::Controller>>;

// Returns the name of this node in Slurm; a guess if slurmd did not set it.
std::string slurm_node(const Variables& variables) {
  auto name = value_of(variables, "SLURMD_NODENAME");
  return name.empty() ? std::string(without_domain(host_name())) : name;
}

// The longest that a sweep at this level may take.
Clock::duration longest_sweep(std::string_view level) {
  if (level == "soak") return std::chrono::minutes(40);
  return level == "full" ? std::chrono::minutes(10) : std::chrono::minutes(3);
}

class HookRun {
 public:
  HookRun(const HookCommand& command, const Caller& caller, Deadline& deadline,
          const CheckNode& check_node, const SweepNode& sweep_node)
      : command_(command),
        caller_(caller),
        deadline_(deadline),
        check_node_(check_node),
        sweep_node_(sweep_node),
        node_(slurm_node(caller.variables)) {}

  // The deadline is set first, because anything opened later may hang.
  int run() {
    deadline_.move(caller_.started + budget());
    const auto rules = read_rules(command_.root, caller_.variables);
    if (rules) rules_ = *rules;
    deadline_.answer_if_lost(status_if_broken());
    deadline_.move(caller_.started + budget());
    const int status = run_with(rules);
    run_sites_program();
    return status;
  }

  [[nodiscard]] HookedNode node() const {
    const auto did = [&](std::string_view kind) {
      return std::ranges::count(reported_, kind, &slurm::Event::kind) > 0;
    };
    return {.name = node_,
            .was_drained = did("drained"),
            .was_resumed = did("resumed"),
            .is_drained = is_drained_};
  }

 private:
  int run_with(const Result<slurm::Rules>& rules) {
    const auto folder = state_folder(command_.state, command_.root);
    if (!folder) return report_trouble(folder.error().message);
    folder_ = *folder;
    open_history();
    if (!rules) return report_trouble(rules.error().message);
    if (command_.context == "periodic" && !command_.dry_run) {
      if (!is_only_health_check()) return kHookPassed;
      wait_for_share_of_spread();
    }
    return check();
  }

  // Runs last, so as not to take time from anything else. Its own failure is not passed to it.
  void run_sites_program() {
    if (command_.dry_run) return;
    node_lock_ = {};
    const auto told = slurm::tell_site(rules_.tell, reported_, deadline_.when() - kReserve);
    if (!told) static_cast<void>(report_trouble(told.error().message));
  }

  [[nodiscard]] std::string variable(const char* name) const {
    return value_of(caller_.variables, name);
  }

  [[nodiscard]] bool is_prolog() const { return command_.context == "prolog"; }

  [[nodiscard]] int status_if_broken() const {
    return !command_.dry_run && rules_.on_trouble == "fail" ? kHookFailed : kHookPassed;
  }

  [[nodiscard]] Clock::duration budget() const {
    if (is_prolog()) return to_duration(rules_.prolog_budget);
    if (command_.context == "epilog") return to_duration(rules_.epilog_budget);
    return to_duration(rules_.health_budget);
  }

  void report(const slurm::Event& event) {
    // The node is drained: even if this run is lost now, the job must not start here.
    if (event.kind == "drained" && is_prolog()) deadline_.answer_if_lost(kHookFailed);
    if (!command_.dry_run) {
      const auto serial = serials_.find(event.device);
      log_event(event, serial == serials_.end() ? "" : serial->second);
    }
    reported_.push_back(event);
    // slurmd logs a hook's output only if the hook fails. A closed output is not an error.
    static_cast<void>(caller_.console.out(fmt::format("muster: {}\n", slurm::summary(event))));
  }

  // Fills in what all events of this run have in common, adds the event to the history and reports
  // it.
  void add_event(slurm::Event event) {
    event.at = wall_time();
    event.node = node_;
    event.context = command_.context;
    event.job = variable("SLURM_JOB_ID");
    if (history_ && !command_.dry_run) static_cast<void>(history_->add(event));
    report(event);
  }

  // Reports a failure of muster itself. Returns the hook's exit status for it.
  int report_trouble(const std::string& message) {
    add_event({.kind = "trouble", .message = message});
    return status_if_broken();
  }

  // A dry run creates no files.
  void open_history() {
    const auto file = history_file(folder_);
    auto history = command_.dry_run ? slurm::History::read(file) : slurm::History::open(file);
    if (history) history_.emplace(*std::move(history));
    const bool is_first = command_.dry_run && !history && history.error().missing;
    if (history || is_first) {
      last_look_.emplace(folder_, node_);
    } else {
      static_cast<void>(report_trouble(history.error().message));
    }
  }

  // Slurm's health checks overlap if one is slower than the interval.
  [[nodiscard]] bool is_only_health_check() {
    health_lock_ = try_lock(folder_ / "health.lock");
    if (health_lock_.holder != ProcessLock::Holder::others) return true;
    if (health_lock_.age > 2 * to_duration(rules_.health_budget)) {
      static_cast<void>(report_trouble(
          fmt::format("another health check has not ended in {} s", health_lock_.age.count())));
    } else {
      caller_.console.note("muster: another health check of this node is running");
    }
    return false;
  }

  // Slurm starts the health checks of all nodes in the same second.
  void wait_for_share_of_spread() const {
    const auto spread =
        std::chrono::duration_cast<std::chrono::milliseconds>(to_duration(rules_.spread));
    if (spread.count() <= 0) return;
    const auto share = std::hash<std::string>{}(node_) % static_cast<std::size_t>(spread.count());
    std::this_thread::sleep_for(std::chrono::milliseconds(share));
  }

  // slurmd passes the name of the node. If something else started the hook, asks Slurm: the node's
  // name may differ from the host's, and another node may have the name of this host.
  void find_node() {
    if (!variable("SLURMD_NODENAME").empty()) return;
    const auto controller = reach_slurm(rules_, caller_.variables, deadline_.when() - kReserve);
    if (!controller) return;  // reported when it is needed
    const auto found = (*controller)->names().and_then([](const auto& names) {
      return slurm::node_on(names, host_name());
    });
    if (!found) {
      unknown_name_ = found.error().message;
      return;
    }
    node_ = *found;
    if (last_look_) last_look_.emplace(folder_, node_);
  }

  [[nodiscard]] ControllerResult reach() const {
    if (!unknown_name_.empty()) return make_error(unknown_name_);
    return reach_slurm(rules_, caller_.variables, deadline_.when() - kReserve);
  }

  // The check that muster drained the node for; empty for none. A health check runs it even if its
  // context leaves it out.
  [[nodiscard]] std::string drained_for() const {
    if (command_.context != "periodic" || !last_look_) return "";
    if (last_look_->is_recent(wall_time())) return "";
    const auto own =
        reach().and_then([&](const auto& controller) { return controller->node(node_); });
    const auto drain = own ? slurm::own_drain(*own) : std::nullopt;
    return drain ? drain->check : "";
  }

  int check() {
    find_node();
    const auto drained_check = drained_for();
    // The rest is for Slurm: two queries, a command, and a wait of 1.5 s in between.
    const auto begin = Clock::now();
    Deadline observing(begin + (deadline_.when() - begin) * 3 / 5);
    auto command = with_site(command_, rules_);
    // No job runs on a new node, so a health check may accept it as well.
    is_new_ = rules_.gate_new_nodes && last_look_ && last_look_->is_new();
    if (is_new_ && command.context == "periodic") command.context = "boot";
    command.tests = tests();
    command.tests_budget = rules_.tests_budget;
    // The hook's own deadline is paused while the tests run.
    const auto end = deadline_.when();
    deadline_.move(end +
                   (command.tests.empty() ? Clock::duration{} : to_duration(command.tests_budget)));
    const auto checked = check_node_(command, drained_check, caller_, observing);
    deadline_.move(end + (checked ? checked->tested : Clock::duration{}));
    if (!checked) return report_trouble(checked.error().message);
    remember_serials(checked->report);
    const int status = act(*checked);
    report_tests_that_did_not_run(command, checked->report);
    write_metrics(checked->report);
    return status;
  }

  void remember_serials(const Report& report) {
    for (const auto& [metric, labels, value] : report.readings) {
      const auto serial = labels.find("serial");
      if (metric == "device_info" && serial != labels.end()) {
        serials_[labels.at("device")] = serial->second;
      }
    }
  }

  void write_metrics(const Report& report) {
    if (rules_.metrics.file.empty() || command_.dry_run) return;
    const auto file = below_root(command_.root, rules_.metrics.file);
    const auto written = check_own_file(file).and_then([&] {
      return replace_file(
          file, to_prometheus(report, {.all_values = rules_.metrics.values == "all"}), 0644);
    });
    if (!written) report_once_a_day(written.error().message);
  }

  // Otherwise only the hook's output, which slurmd drops, would show that no test ever runs.
  void report_tests_that_did_not_run(const HookCommand& command, const Report& report) {
    if (command.tests.empty() || command_.dry_run) return;
    const auto found = std::ranges::find(report.findings, "bench.completion", &Finding::check);
    if (found == report.findings.end() || found->outcome != Outcome::unknown) return;
    report_once_a_day(sentence(*found));
  }

  // Reports a lasting failure.
  void report_once_a_day(const std::string& message) {
    const auto since = wall_time() - std::chrono::hours(24);
    const auto earlier = history_ ? history_->events({.kinds = {"trouble"}, .since = since})
                                  : Result<std::vector<slurm::Event>>();
    if (earlier && std::ranges::count(*earlier, message, &slurm::Event::message) > 0) return;
    static_cast<void>(report_trouble(message));
  }

  // A health check has no time for tests, even if it is to accept a new node.
  [[nodiscard]] std::string tests() const {
    if (command_.context == "epilog") return rules_.epilog_tests;
    return command_.context == "boot" ? rules_.boot_tests : "";
  }

  // A sweep has its own time limit: the rest of the hook keeps the time it had left.
  Result<Report> sweep() {
    const auto left = deadline_.when() - Clock::now();
    const auto until = Clock::now() + longest_sweep(rules_.gate_sweep);
    deadline_.move(until + left);
    node_lock_ = {};  // other hooks do not wait for a sweep
    auto swept = sweep_node_(command_, rules_.gate_sweep, caller_, until);
    deadline_.move(Clock::now() + left);
    return swept;
  }

  // Only one hook at a time keeps the gate: it notes a drain before it sends it.
  Gate keep_gate_for(const CheckedNode& checked, slurm::Controller& controller) {
    const auto trouble = command_.dry_run ? "" : exclude_others();
    if (!trouble.empty()) static_cast<void>(report_trouble(trouble));
    if (!last_look_->is_new()) return Gate::open;  // another hook has accepted it meanwhile
    GateServices services{.controller = &controller,
                          .history = history_ ? &*history_ : nullptr,
                          .last_look = &*last_look_,
                          .add_event = [this](slurm::Event event) { add_event(std::move(event)); },
                          .reach = [this] { return reach(); }};
    const bool may_sweep = command_.context == "boot" && sweep_node_ && !command_.dry_run;
    if (may_sweep) services.sweep = [this] { return sweep(); };
    return keep_gate({.name = node_,
                      .boot_id = checked.boot_id,
                      .report = &checked.report,
                      .accepts = command_.context == "boot" || command_.context == "periodic",
                      .needs_sweep = rules_.gate_sweep != "none",
                      .dry_run = command_.dry_run,
                      .remembers = rules_.memory != "none"},
                     services);
  }

  int act(const CheckedNode& checked) {
    auto controller = reach();
    if (is_new_ && controller) {
      const auto gate = keep_gate_for(checked, **controller);
      if (gate == Gate::others) {
        static_cast<void>(caller_.console.out(fmt::format(
            "muster: {} is new, and left alone: it is drained by others, or unavailable\n",
            node_)));
        return kHookPassed;
      }
      if (gate == Gate::closed) return end_prolog("the node is new, and not accepted yet", true);
      // A node that the gate did not accept is still new, even if it is seen in service.
      if (last_look_->is_new()) last_look_.reset();
      controller = reach();  // the sweep used up the first one's time
    }
    const auto enforced = enforce_on(checked, controller);
    is_drained_ = enforced.drained;
    if (enforced.events.empty()) {
      const auto why = enforced.out_of_reach ? enforced.decision.why
                       : command_.dry_run    ? why_unreachable(controller)
                                             : why_broken(controller);
      if (!why.empty()) report_unreachable(why, checked.boot_id);
    }
    static_cast<void>(caller_.console.out(fmt::format("muster: {}\n", line_of(*enforced.report))));
    // Only a prolog can hold a job back. Slurm drains a node whose prolog fails, so a prolog fails
    // only on a node that is already drained: otherwise it would bypass the site's limits on
    // drains.
    if (!is_prolog() || !enforced.decision.sick) return kHookPassed;
    return end_prolog(line_of(checked.report), enforced.drained);
  }

  // Leads with the finding that would be the reason for a drain.
  [[nodiscard]] std::string line_of(const Report& report) const {
    return one_line(report, kLongestLine, slurm::drain_finding(report, rules_));
  }

  slurm::HookResult enforce_on(const CheckedNode& checked, const ControllerResult& controller) {
    slurm::HookRequest request{.report = &checked.report,
                               .node = node_,
                               .context = command_.context,
                               .job = variable("SLURM_JOB_ID"),
                               .boot_id = checked.boot_id,
                               .identity = checked.identity,
                               .machine = checked.machine,
                               .rules = rules_,
                               .dry_run = command_.dry_run};
    // Leftovers that an epilog drained for would pass a health check, which ignores jobs that run.
    if (command_.context == "periodic") {
      request.judge_drained = [&](const std::string& check) {
        return &of_drained_.emplace(checked.judge_drained(check));
      };
    }
    return slurm::enforce(request,
                          {.controller = controller ? controller->get() : nullptr,
                           .trouble = controller ? std::string() : controller.error().message,
                           .history = history_ ? &*history_ : nullptr,
                           .last_look = last_look_ ? &*last_look_ : nullptr,
                           .tell = [&](const slurm::Event& event) { report(event); },
                           .exclude_others = [&] { return exclude_others(); },
                           .left = [&] { return time_left(); }});
  }

  // Prologs, epilogs and health checks of one node act one at a time. Waits for at most half of the
  // time left, so that the other half is left to act.
  std::string exclude_others() {
    const auto begin = Clock::now();
    node_lock_ = {};
    node_lock_ = wait_for_lock(folder_ / "node.lock", begin + time_left() / 2);
    if (node_lock_.holder != ProcessLock::Holder::others) return "";
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin);
    return fmt::format("another hook of this node has not ended in {} s: this one does not wait",
                       waited.count());
  }

  // Queries Slurm even if there is nothing to do, for an admin's first dry run. Empty if it
  // answers.
  [[nodiscard]] std::string why_unreachable(const ControllerResult& controller) const {
    if (!controller) return controller.error().message;
    const auto nodes = (*controller)->nodes(node_);
    return nodes ? "" : nodes.error().message;
  }

  // A healthy node asks Slurm only once an hour. Empty if Slurm's programs still work on this
  // machine; slurmctld is not asked.
  [[nodiscard]] std::string why_broken(const ControllerResult& controller) const {
    if (!controller) return controller.error().message;
    if (command_.context != "periodic") return "";
    const auto works = check_programs(rules_, caller_.variables, deadline_.when() - kReserve);
    return works ? "" : works.error().message;
  }

  // Reports once per boot, and again if Slurm has answered in between, so that an installation
  // that cannot reach Slurm is noticed before the first node is sick.
  void report_unreachable(const std::string& why, const std::string& boot_id) {
    constexpr std::string_view kUnreachable = "cannot reach Slurm: ";
    if (history_ && !command_.dry_run) {
      const auto look = last_look_ ? last_look_->last() : std::nullopt;
      const auto asked_at = look ? look->at : slurm::Time{};
      const auto earlier = history_->events({.nodes = {node_}, .kinds = {"trouble"}});
      const bool was_reported =
          earlier && std::ranges::any_of(*earlier, [&](const slurm::Event& each) {
            return each.boot_id == boot_id && each.at >= asked_at &&
                   each.message.starts_with(kUnreachable);
          });
      if (was_reported) return;
    }
    add_event(
        {.kind = "trouble", .message = fmt::format("{}{}", kUnreachable, why), .boot_id = boot_id});
  }

  // The time left for Slurm. The reserve is for what follows.
  [[nodiscard]] std::chrono::milliseconds time_left() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(deadline_.when() - kReserve -
                                                                 Clock::now());
  }

  // Informs the job's user that the node is unfit. `is_refused`: the job does not start here.
  [[nodiscard]] int end_prolog(std::string what, bool is_refused) const {
    if (!is_prolog() || command_.dry_run) return kHookPassed;
    const auto until =
        std::min(Clock::now() + std::chrono::seconds(4), deadline_.when() - kReserve);
    const auto told =
        slurm::tell_user({.node = node_, .what = std::move(what), .starts = !is_refused}, rules_,
                         caller_.variables, until);
    if (!told) {
      caller_.console.note(
          fmt::format("muster: cannot inform the job's user: {}", told.error().message));
    }
    return is_refused ? kHookFailed : kHookPassed;
  }

  static constexpr std::size_t kLongestLine = 300;
  static constexpr std::chrono::milliseconds kReserve{300};

  const HookCommand& command_;
  const Caller& caller_;
  Deadline& deadline_;
  const CheckNode& check_node_;
  const SweepNode& sweep_node_;
  std::string node_;          // its name in Slurm
  std::string unknown_name_;  // why Slurm could not supply it; empty if it did, or was not asked
  fs::path folder_;
  slurm::Rules rules_;
  bool is_drained_ = false;
  bool is_new_ = false;  // the site gates new nodes, and this is one
  std::optional<slurm::History> history_;
  std::optional<slurm::LastLook> last_look_;
  std::optional<Report> of_drained_;
  ProcessLock health_lock_, node_lock_;         // of health checks, and of all hooks of this node
  std::map<std::string, std::string> serials_;  // of devices
  std::vector<slurm::Event> reported_;
};

}  // namespace

int run_hook(const HookCommand& command, const Caller& caller, Deadline& deadline,
             const CheckNode& check_node, const SweepNode& sweep_node, const AfterHook& after) {
  HookRun run(command, caller, deadline, check_node, sweep_node);
  const int status = run.run();
  if (after && !command.dry_run) after(command, run.node());
  return status;
}

void report_lost_hook(const HookCommand& command, const Caller& caller, std::string_view message) {
  if (command.dry_run) return;
  log_warning(std::string(message));
  const auto folder = state_folder(command.state, command.root);
  if (!folder) return;
  constexpr auto kLongest = std::chrono::milliseconds(500);
  // This may hang for the same reason as the hook.
  static_cast<void>(ask_child("history", kLongest, [&] {
    const slurm::Event event{.at = wall_time(),
                             .node = slurm_node(caller.variables),
                             .kind = "trouble",
                             .context = command.context,
                             .message = std::string(message)};
    const auto added = slurm::History::open(history_file(*folder)).and_then([&](auto history) {
      return history.add(event);
    });
    return added ? std::string() : added.error().message;
  }));
}

}  // namespace muster::app
