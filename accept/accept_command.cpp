// SPDX-License-Identifier: Apache-2.0
#include "accept/accept_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "accept/fleet.hpp"
#include "accept/loop.hpp"
#include "accept/orders.hpp"
#include "accept/remote.hpp"
#include "accept/run_folder.hpp"
#include "accept/sim.hpp"
#include "accept/standing_text.hpp"
#include "accept/step.hpp"
#include "accept/write_page.hpp"
#include "lib/accept/delivery.hpp"
#include "lib/accept/terms.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/host_name.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/text.hpp"
#include "lib/command/version.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/process/process.hpp"
#include "lib/profile/choice.hpp"

namespace muster::app {
namespace {

using namespace accept;  // NOLINT(google-build-using-namespace): the command is about nothing else

constexpr std::string_view kHelp = "help";  // --sim help

template <class T>
OrFailure<T> or_usage(Result<T> result) {
  if (result) return *std::move(result);
  return tl::unexpected(Failure{.status = kExitUsage, .message = result.error().message});
}

template <class T>
OrFailure<T> or_configuration(Result<T> result) {
  if (result) return *std::move(result);
  return bad_configuration(result.error());
}

std::int64_t now() { return wall_time().time_since_epoch().count(); }

Result<std::int64_t> soak_of(const std::string& text) {
  const auto time = parse_quantity<SecondsKind>(text);
  if (!time) return make_error("--soak: {}", time.error().message);
  return static_cast<std::int64_t>(time->value);
}

// Returns `plan` with the options of the command line, checked against the number of nodes.
OrFailure<Plan> plan_of(const AcceptCommand& command, const Caller& caller, Plan plan,
                        std::size_t nodes) {
  if (!command.plan.empty()) {
    const auto sources = sources_of(caller.variables, "/", {});
    TRY_ASSIGN(plan, or_configuration(read_plan(command.plan, sources)));
  }
  if (!command.soak.empty()) {
    TRY_ASSIGN(plan.soak_s, or_usage(soak_of(command.soak)));
    plan.slice_s = std::min(plan.slice_s, plan.soak_s);
    if (const auto checked = check_plan(plan); !checked) {
      return tl::unexpected(Failure{.status = kExitUsage,
                                    .message = fmt::format("--soak: {}", checked.error().message)});
    }
  }
  if (const auto checked = check_soak(plan, nodes); !checked) {
    return bad_configuration(checked.error());
  }
  return plan;
}

// Returns the command with the options that the run was begun with, unless it has its own.
AcceptCommand as_begun(AcceptCommand command, const Order& order) {
  if (command.by.empty()) command.by = order.by;
  if (command.sim.empty()) command.sim = order.sim;
  if (command.muster.empty()) command.muster = order.program;
  return command;
}

// The path of a program must be valid in other folders as well.
std::string path_or_word(const std::string& by) {
  if (by.find('/') == std::string::npos) return by;
  return std::filesystem::absolute(by).lexically_normal().string();
}

std::string by_of(const AcceptCommand& command, const Order& order, const Variables& variables) {
  if (!command.by.empty()) return command.by;
  if (!value_of(variables, "SLURM_JOB_NODELIST").empty()) return "slurm";
  const auto& first = order.nodes.front().name;
  const bool here =
      first == "localhost" || first == host_name() || first == without_domain(host_name());
  return order.nodes.size() == 1 && here ? "local" : "ssh";
}

std::string muster_on_nodes(const AcceptCommand& command) {
  if (!command.muster.empty()) return command.muster;
  std::error_code failure;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
  return failure ? "/usr/bin/muster" : self.string();
}

// Reports an error in --by or --sim before the folder is created.
OrFailure<void> check_fleet(const AcceptCommand& command, const Order& order,
                            const Caller& caller) {
  const auto fleet = command.by == kSim
                         ? make_sim_fleet(order, command.sim, {})
                         : make_remote_fleet(order, {.by = by_of(command, order, caller.variables),
                                                     .muster = muster_on_nodes(command),
                                                     .variables = caller.variables});
  if (fleet) return {};
  return tl::unexpected(Failure{.status = kExitUsage, .message = fleet.error().message});
}

// Returns a new order, or the one on record if it is the same.
OrFailure<RunFolder> open_run(const AcceptCommand& command, const Caller& caller) {
  const std::filesystem::path path = command.run;
  std::error_code failure;
  const bool is_new = !std::filesystem::exists(path / "run.json", failure);
  if (is_new && command.words.empty()) {
    return tl::unexpected(Failure{
        .status = kExitUsage,
        .message =
            fmt::format("{} is not the folder of a run, and no nodes were given", command.run)});
  }
  std::vector<OrderedNode> nodes;
  if (!command.words.empty()) {
    TRY_ASSIGN(nodes, or_usage(read_nodes(command.words)));
  }
  if (is_new) {
    TRY_ASSIGN(auto plan, plan_of(command, caller, *shipped_plan("standard"), nodes.size()));
    auto order = make_order(std::move(plan), std::move(nodes));
    order.by = path_or_word(command.by);
    order.sim = command.sim;
    order.program = command.muster;
    TRY(check_fleet(command, order, caller));
    return RunFolder::create(path, std::move(order));
  }
  TRY_ASSIGN(auto folder, RunFolder::open(path, RunFolder::Use::drive));
  const auto& order = folder.order();
  std::string differs;
  if (order.muster != kVersion) {
    differs = fmt::format("it was started by muster {}, but this is {}", order.muster, kVersion);
  } else if (!nodes.empty()) {
    differs = difference(order.nodes, nodes);
  } else if (!command.by.empty() && (command.by == kSim) != (order.by == kSim)) {
    differs = order.by == kSim ? "its nodes are simulated" : "its nodes are not simulated";
  }
  if (differs.empty() && !(command.plan.empty() && command.soak.empty())) {
    TRY_ASSIGN(const auto plan, plan_of(command, caller, order.plan, order.nodes.size()));
    differs = difference(order.plan, plan);
  }
  if (differs.empty()) return folder;
  return bad_configuration(
      {fmt::format("{}: {}; a changed order needs another folder", command.run, differs)});
}

std::vector<bool> all_reachable(const Order& order) {
  return std::vector<bool>(order.nodes.size(), true);
}

std::int64_t time_of(const RunFolder& folder) { return std::max(now(), folder.latest()); }

Actions look(const RunFolder& folder) {
  return next(folder.order(), folder.results(), all_reachable(folder.order()), time_of(folder));
}

int show_status(const AcceptCommand& command, const Caller& caller) {
  const auto folder = RunFolder::open(command.run, RunFolder::Use::read);
  if (!folder) return fail(caller, folder.error());
  const auto actions = look(*folder);
  return deliver(caller, "", standing_text(folder->order(), actions),
                 exit_status(folder->order().plan, actions));
}

int make_page(const AcceptCommand& command, const Caller& caller) {
  const auto folder = RunFolder::open(command.run, RunFolder::Use::read);
  if (!folder) return fail(caller, folder.error());
  const auto actions = look(*folder);
  const auto written = write_page(*folder, actions, time_of(*folder), command.whom);
  if (!written) return fail(caller, undecided(written.error()).value());
  const auto* const file = command.whom == For::provider ? "provider.html" : "page.html";
  return deliver(caller, "", fmt::format("{}/{}\n", command.run, file),
                 exit_status(folder->order().plan, actions));
}

// Returns the decision on the command line, if there is one.
OrFailure<std::optional<Decision>> decision_of(const AcceptCommand& command,
                                               const RunFolder& folder) {
  Decision decision{.why = command.why, .who = folder.who(), .at = now()};
  if (!command.go_on.empty()) {
    decision.kind = DecisionKind::go_on;
    decision.check = command.go_on;
    const auto breakers = look(folder).breakers;
    if (std::ranges::find(breakers, command.go_on, &Breaker::check) != breakers.end()) {
      return decision;
    }
    return or_usage<std::optional<Decision>>(
        make_error("--go-on: no stage is stopped by {}", printable(command.go_on, 80)));
  }
  const auto& list = command.retest.empty() ? command.withdraw : command.retest;
  if (list.empty()) return std::nullopt;
  if (command.retest.empty()) decision.kind = DecisionKind::withdraw;
  auto nodes = expand_hostlist(list, kMaxNodes);
  if (!nodes) {
    return or_usage<std::optional<Decision>>(make_error(
        "{}: {}", command.retest.empty() ? "--withdraw" : "--retest", nodes.error().message));
  }
  decision.nodes = *std::move(nodes);
  const auto& ordered = folder.order().nodes;
  for (const auto& node : decision.nodes) {
    if (std::ranges::find(ordered, node, &OrderedNode::name) != ordered.end()) continue;
    return or_usage<std::optional<Decision>>(make_error("{} was not ordered", printable(node, 80)));
  }
  return decision;
}

int dry_run(const AcceptCommand& command, const Caller& caller) {
  const auto nodes = read_nodes(command.words);
  if (!nodes) return fail(caller, {.status = kExitUsage, .message = nodes.error().message});
  const auto plan = plan_of(command, caller, *shipped_plan("standard"), nodes->size());
  if (!plan) return fail(caller, plan.error());
  auto text = plan_text(*plan, nodes->size());
  const auto order = make_order(*plan, *nodes);
  const auto by = by_of(command, order, caller.variables);
  // The plan of a Slurm job is also printed before the job exists.
  if (by != "slurm") {
    const auto checked = check_fleet(command, order, caller);
    if (!checked) return fail(caller, checked.error());
  }
  const auto& first = nodes->front().name;
  if (by != kSim) {
    const auto words =
        node_command(by, first, {muster_on_nodes(command), "accept", "--step", "REQUEST"});
    text += fmt::format("a stage of {} would run: {}\n", first, fmt::join(words, " "));
  }
  return deliver(caller, "", text, kExitHealthy);
}

class Progress {
 public:
  Progress(const Order& order, const Console& console) : order_(order), console_(console) {}

  // On a terminal, replaces the last line.
  void show(const Actions& actions) {
    if (console_.width == 0) return;
    const auto line = printable(progress_line(order_, actions), console_.width - 1);
    if (line == shown_) return;
    static_cast<void>(console_.out(fmt::format("\r\x1b[K{}", line)));
    shown_ = line;
  }

  void ended(const std::string& line) {
    const auto* const erase = console_.width == 0 ? "" : "\r\x1b[K";
    static_cast<void>(console_.out(fmt::format("{}{} {}\n", erase, utc_now(), line)));
    shown_.clear();
  }

  void finish() {
    if (!shown_.empty()) static_cast<void>(console_.out("\r\x1b[K"));
  }

 private:
  const Order& order_;
  const Console& console_;
  std::string shown_;
};

// Enough for 512 programs with four pipes each.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

// Returns the number of GPUs of each node, from its newest inventory.
std::vector<std::size_t> gpus_of(const RunFolder& folder) {
  const auto& nodes = folder.order().nodes;
  std::map<std::string_view, const accept::Attempt*> newest;
  for (const auto& each : folder.results().attempts) {
    if (each.stage == Stage::inventory && !each.boot_id.empty()) newest[each.node] = &each;
  }
  std::vector<std::size_t> gpus(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto inventory = newest.find(nodes[i].name);
    if (inventory == newest.end()) continue;
    const auto answer = folder.answer(*inventory->second);
    if (!answer || !*answer) continue;
    gpus[i] = static_cast<std::size_t>(std::ranges::count((*answer)->parts, "gpu", &Part::kind));
  }
  return gpus;
}

OrFailure<std::unique_ptr<Fleet>> fleet_of(const AcceptCommand& command, const RunFolder& folder,
                                           const Caller& caller, int wake) {
  const auto& order = folder.order();
  if (command.by == kSim) {
    return or_usage(make_sim_fleet(order, command.sim, folder.results()));
  }
  return or_usage(make_remote_fleet(order, {.by = by_of(command, order, caller.variables),
                                            .muster = muster_on_nodes(command),
                                            .folder = folder.path(),
                                            .variables = caller.variables,
                                            .wake = wake,
                                            .gpus = [&folder] { return gpus_of(folder); }}));
}

std::string last_words(LoopEnd end, const AcceptCommand& command) {
  switch (end) {
    case LoopEnd::complete:
      return "";
    case LoopEnd::breaker:
      return "stopped     by a suspected common cause\n";
    case LoopEnd::waiting:
      return "incomplete  no other node can be reached now\n";
    case LoopEnd::stopped:
      break;
  }
  return fmt::format("stopped     muster accept --run {} continues\n", command.run);
}

int drive(const AcceptCommand& command, const Caller& caller) {
  auto folder = open_run(command, caller);
  if (!folder) return fail(caller, folder.error());
  const auto decision = decision_of(command, *folder);
  if (!decision) return fail(caller, decision.error());
  if (*decision) {
    const auto decided = folder->decide(**decision);
    if (!decided) return fail(caller, undecided(decided.error()).value());
    return deliver(caller, "",
                   fmt::format("recorded; muster accept --run {} continues\n", command.run),
                   kExitHealthy);
  }
  StopSignals signals;
  allow_many_files();
  const auto fleet =
      fleet_of(as_begun(command, folder->order()), *folder, caller, signals.descriptor());
  if (!fleet) return fail(caller, fleet.error());
  Progress progress(folder->order(), caller.console);
  const auto page = [&](const Actions& actions) {
    return write_page(*folder, actions, (*fleet)->now());
  };
  const LoopHooks hooks{.stops = [&] { return signals.count(); },
                        .stopping = [&](const Actions& last) { static_cast<void>(page(last)); },
                        .progress = [&](const Actions& actions) { progress.show(actions); },
                        .ended = [&](const std::string& line) { progress.ended(line); }};
  const auto ended = run_acceptance(*folder, **fleet, hooks);
  progress.finish();
  if (!ended) return fail(caller, undecided(ended.error()).value());
  const auto written = page(ended->last);
  if (!written) return fail(caller, undecided(written.error()).value());
  auto text = standing_text(folder->order(), ended->last);
  text += last_words(ended->end, command);
  text += fmt::format("page        {}/page.html\n", command.run);
  return deliver(caller, "", text, exit_status(folder->order().plan, ended->last));
}

}  // namespace

int run_accept(const AcceptCommand& command, const Caller& caller) {
  if (!command.step.empty()) return run_step(command.step, caller);
  if (command.sim == kHelp) {
    return deliver(caller, "", fmt::format("{}\n", wrapped(sim_fleet_help(), 2)), kExitHealthy);
  }
  if (command.dry_run) return dry_run(command, caller);
  if (command.page) return make_page(command, caller);
  if (command.status) return show_status(command, caller);
  return drive(command, caller);
}

}  // namespace muster::app
