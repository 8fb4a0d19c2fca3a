// SPDX-License-Identifier: Apache-2.0
#include "repair/repair_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/files.hpp"
#include "lib/base/text.hpp"
#include "lib/base/uuid.hpp"
#include "lib/process/child.hpp"
#include "lib/profile/choice.hpp"
#include "lib/repair/ladder.hpp"
#include "lib/report/format.hpp"
#include "repair/claim_command.hpp"
#include "repair/journal.hpp"
#include "repair/node_access.hpp"
#include "repair/rules.hpp"
#include "slurm/cluster/queue.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "slurm/policy/node_memory.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;
using repair::Advice;
using repair::RepairCase;
using repair::RepairJournal;
using repair::RepairRecord;
using repair::RepairStep;
using repair::Rung;
using repair::State;

std::string who(const RepairCommand& command, const Caller& caller) {
  return command.automatic ? "hook" : user_behind_sudo(caller.variables);
}

// "20261128T051000Z".
std::string file_time(repair::Time time) {
  auto text = utc(time);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

// Returns why muster must not repair the node; empty if it may, or if the node is in service.
std::string owner_of(const slurm::NodeState& node, const std::optional<slurm::NodeMemory>& drain) {
  if (drain && !drain->check.empty() && !drain->overruled && drain->drained_by.empty()) return "";
  if (standing_apart_from_power(node) == slurm::Standing::in_service) return "";
  return fmt::format("{} has it as \"{}\"", node.user.empty() ? "Slurm" : printable(node.user, 40),
                     printable(node.reason.empty() ? node.state : node.reason, 200));
}

class NodeRepair {
 public:
  NodeRepair(const RepairCommand& command, const Caller& caller, const repair::RepairRules& rules,
             const Site& site, slurm::Installation slurm, std::string node)
      : command_(command),
        caller_(caller),
        rules_(rules),
        site_(site),
        slurm_(std::move(slurm)),
        node_(std::move(node)),
        access_(rules.by, node_, caller.variables) {}

  [[nodiscard]] bool failed() const { return failed_; }

  // Whether the next step is a claim.
  [[nodiscard]] bool claims() const { return claims_; }

  // Returns the lines to print.
  Result<std::string> run() {
    TRY_ASSIGN(auto records, RepairJournal::read(rules_.folder));
    TRY(look(repair::latest(records)));
    if (command_.go) {
      TRY_ASSIGN(auto journal, RepairJournal::open(rules_.folder));
      if (const auto ended = repair::ended_reboot(case_)) {
        TRY(keep_report());
        TRY(record(journal, *ended));
      }
      case_.operations = repair::latest(journal.records());
    }
    auto step = repair::next_step(case_);
    if (step.breaker && command_.go) TRY(record_breaker(step));
    if (step.what != Advice::act) return lines_ + line(step.why);
    if (command_.shadow) TRY(record_shadow(step));
    if (!command_.go) {
      return lines_ + line(fmt::format("would {}: {}", what(step), step.why));
    }
    collect_evidence();
    TRY(look(case_.operations));
    return act();
  }

 private:
  [[nodiscard]] std::string line(std::string_view text) const {
    return fmt::format("{}: {}\n", printable(node_, 100), text);
  }

  [[nodiscard]] std::string what(const RepairStep& step) const {
    if (step.rung == Rung::restart_service) return fmt::format("restart {}", step.unit);
    if (step.rung == Rung::reset_gpu) return fmt::format("reset {}", case_.drain.device);
    return std::string(to_string(step.rung));
  }

  Result<void> look(std::vector<RepairRecord> operations) {
    const bool had_no_evidence = case_.evidence_failed;
    case_ = {.evidence_failed = had_no_evidence,
             .operations = std::move(operations),
             .automatic = command_.automatic,
             .rules = rules_,
             .now = wall_time()};
    TRY_ASSIGN(const auto state, site_.controller->node(node_));
    TRY_ASSIGN(const auto all, site_.controller->nodes(""));
    case_.nodes = all.size();
    for (const auto& each : all) {
      const auto drain = slurm::shown_drain(each);
      if (!was_drained_by_us(each) || drain.accepted) continue;
      case_.drains.push_back(
          {.node = each.name, .check = drain.check, .device = drain.device, .at = drain.at});
    }
    const auto drain = slurm::own_drain(state);
    case_.owner = owner_of(state, drain);
    case_.drain.node = node_;
    case_.message = state.reason;
    if (drain && case_.owner.empty()) {
      case_.drain = {
          .node = node_, .check = drain->check, .device = drain->device, .at = drain->at};
      case_.remedy = drain->remedy;
      case_.drain_boot = drain->boot;
    }
    const slurm::CallLimits limits{.deadline = to_duration(site_.rules.controller_deadline),
                                   .end = Clock::time_point::max()};
    if (const auto jobs = slurm::jobs_on(slurm_, node_, limits)) case_.jobs = *jobs;
    look_at_node();
    return {};
  }

  // Runs the check that failed, and counts the processes on the GPUs.
  void look_at_node() {
    auto check = case_.drain.check;
    for (const auto& each : case_.operations) {
      if (check.empty() && each.node == node_ && repair::needs_person(each)) check = each.check;
    }
    if (check.empty()) return;
    auto report = access_.check(check);
    if (!report) {
      const auto why = line(report.error().message);
      if (lines_.find(why) == std::string::npos) lines_ += why;
      return;
    }
    case_.processes = access_.processes();
    case_.boot_id = report->boot_id;
    physical_host_ = report->physical_host;
    report_ = *std::move(report);
    take_from_report(check);
  }

  void take_from_report(const std::string& check) {
    for (const auto& each : report_->checks) {
      if (each.id != check || each.outcome == Outcome::unknown) continue;
      case_.passes = each.outcome == Outcome::pass;
    }
    for (const auto& each : report_->findings) {
      if (each.check == check && each.device == case_.drain.device) case_.message = each.message;
    }
    for (const auto& each : report_->parts) {
      if (each.device != case_.drain.device) continue;
      case_.serials = {each.serial};
      address_ = each.address;
    }
  }

  // Prefers a bundle that a hook collected since the drain: it is closer to the fault.
  void collect_evidence() {
    std::error_code failure;
    const auto since = file_time(case_.drain.at);
    for (const auto& entry : fs::directory_iterator(fs::path(rules_.folder) / node_, failure)) {
      const auto name = entry.path().filename().string();
      if (name.ends_with(".evidence.tar.gz") && name >= since && name > evidence_) evidence_ = name;
    }
    if (!evidence_.empty()) return;
    const auto bundle = access_.collect_evidence();
    if (bundle) {
      evidence_ = fs::path(*bundle).filename().string();
    } else {
      case_.evidence_failed = true;
      lines_ += line(fmt::format("no evidence: {}", bundle.error().message));
    }
  }

  [[nodiscard]] RepairRecord new_record(const RepairStep& step, State state) const {
    return {.id = make_uuid(),
            .at = utc_now(),
            .node = node_,
            .rung = step.rung,
            .state = state,
            .incident = repair::incident_of(case_.drain),
            .check = case_.drain.check,
            .device = case_.drain.device,
            .serials = case_.serials,
            .who = who(command_, caller_),
            .why = case_.evidence_failed
                       ? fmt::format("{}; no evidence could be collected", step.why)
                       : step.why,
            .boot_id = case_.boot_id,
            .physical_host = physical_host_,
            .unit = step.unit,
            .evidence = evidence_};
  }

  Result<void> record_breaker(const RepairStep& step) {
    TRY_ASSIGN(auto journal, RepairJournal::open(rules_.folder));
    auto stopped = new_record(step, State::ambiguous);
    stopped.incident = fmt::format("breaker {}", case_.drain.check);
    failed_ = true;
    return record(journal, std::move(stopped));
  }

  // Records it once per incident and rung.
  Result<void> record_shadow(const RepairStep& step) {
    TRY_ASSIGN(auto journal, RepairJournal::open(rules_.folder));
    const auto shadow = new_record(step, State::shadow);
    const bool is_known = std::ranges::any_of(journal.records(), [&](const RepairRecord& each) {
      return each.state == State::shadow && each.node == node_ && each.rung == shadow.rung &&
             each.incident == shadow.incident;
    });
    return is_known ? Result<void>() : journal.add(shadow);
  }

  // Writes an event and then a line of the journal.
  Result<void> record(RepairJournal& journal, RepairRecord changed) {
    changed.at = utc_now();
    TRY(announce(fmt::format("{} {}: {} ({})", to_string(changed.rung), to_string(changed.state),
                             changed.why, changed.id),
                 changed));
    lines_ += line(
        fmt::format("{} {}: {}", to_string(changed.rung), to_string(changed.state), changed.why));
    failed_ |= changed.state == State::failed || changed.state == State::ambiguous;
    return journal.add(std::move(changed));
  }

  Result<void> announce(const std::string& message, const RepairRecord& of) {
    const slurm::Event event{.at = wall_time(),
                             .node = node_,
                             .kind = "repair",
                             .context = command_.automatic ? "periodic" : "admin",
                             .check = of.check,
                             .device = of.device,
                             .message = fmt::format("{}; by {}; evidence: {}", message, of.who,
                                                    of.evidence.empty() ? "none" : of.evidence),
                             .boot_id = of.boot_id};
    TRY_ASSIGN(const auto folder, state_folder(command_.state, command_.root));
    TRY_ASSIGN(auto history, slurm::History::open(history_file(folder)));
    TRY(history.add(event));
    log_event(event, of.serials.empty() ? "" : of.serials.front());
    return {};
  }

  // Decides again under the lock, now that the evidence is there, and reserves the operation.
  Result<std::string> act() {
    RepairStep step;
    RepairRecord reserved;
    {
      TRY_ASSIGN(auto journal, RepairJournal::open(rules_.folder));
      case_.operations = repair::latest(journal.records());
      step = repair::next_step(case_);
      if (step.what != Advice::act) return lines_ + line(step.why);
      reserved = new_record(step, State::reserved);
      if (step.rung == Rung::claim) {
        TRY(announce(fmt::format("claim: {}", step.why), reserved));
        claims_ = true;
        return lines_ + line(fmt::format("claim: {}; muster claim {} prints:", step.why, node_));
      }
      TRY(record(journal, reserved));
    }
    if (step.rung == Rung::reboot) return reboot(std::move(reserved));
    const auto gpu = address_.empty() ? case_.drain.device.substr(3) : address_;
    const auto outcome =
        step.rung == Rung::restart_service ? access_.restart(step.unit) : access_.reset_gpu(gpu);
    reserved.state = outcome.state;
    if (!outcome.why.empty()) reserved.why = outcome.why;
    if (outcome.state == State::succeeded) TRY(verify(reserved));
    TRY_ASSIGN(auto journal, RepairJournal::open(rules_.folder));
    TRY(record(journal, std::move(reserved)));
    return lines_;
  }

  // The outcome depends on the check that failed, and on whether the node is still muster's to
  // repair. muster's hook resumes the node by its own rules.
  Result<void> verify(RepairRecord& done) {
    auto operations = case_.operations;
    operations.push_back(done);
    operations.back().state = State::reserved;
    TRY(look(std::move(operations)));
    if (!case_.owner.empty()) {
      done.state = State::superseded;
      done.why = case_.owner;
    } else if (!case_.passes) {
      done.state = State::ambiguous;
      done.why = fmt::format("{} could not be judged afterwards", done.check);
    } else {
      done.state = *case_.passes ? State::succeeded : State::failed;
      done.why =
          fmt::format("{} {} afterwards", done.check, *case_.passes ? "passes" : "still fails");
    }
    return keep_report();
  }

  // Keeps the report next to the evidence: a claim needs a fault that was seen twice.
  Result<void> keep_report() const {
    if (!report_) return {};
    const auto folder = fs::path(rules_.folder) / node_;
    std::error_code failure;
    fs::create_directory(folder, failure);
    auto file = folder;
    for (auto time = wall_time(); file == folder || fs::exists(file, failure);
         time += std::chrono::seconds(1)) {
      file = folder / fmt::format("{}.report.json", file_time(time));
    }
    return replace_file(file, to_json(*report_), 0600);
  }

  // The drain stays in place; with ASAP, Slurm 22.05 would end it after the boot. A later call
  // records the outcome, because this process may run on the node.
  Result<std::string> reboot(RepairRecord reserved) {
    const auto sent = slurm::call(slurm_, slurm_.scontrol, {"reboot", node_},
                                  {.deadline = to_duration(site_.rules.controller_deadline),
                                   .end = Clock::time_point::max()});
    if (!sent && slurm::is_refusal(sent.error(), "scontrol")) {
      TRY_ASSIGN(auto journal, RepairJournal::open(rules_.folder));
      reserved.state = State::failed;
      reserved.why = sent.error().message;
      TRY(record(journal, std::move(reserved)));
      return lines_;
    }
    return lines_ + line(sent ? "Slurm reboots it; run muster repair again when it is back"
                              : sent.error().message);
  }

  const RepairCommand& command_;
  const Caller& caller_;
  const repair::RepairRules& rules_;
  const Site& site_;
  slurm::Installation slurm_;
  std::string node_;
  repair::NodeAccess access_;
  RepairCase case_;
  std::optional<Report> report_;
  std::string physical_host_, address_, evidence_, lines_;
  bool failed_ = false, claims_ = false;
};

Result<std::string> resolve(const RepairCommand& command, const repair::RepairRules& rules,
                            const Caller& caller) {
  const auto parts = split(command.resolve, '=');
  TRY_ASSIGN(auto journal, RepairJournal::open(rules.folder));
  auto operations = repair::latest(journal.records());
  const auto found = std::ranges::find(operations, parts.front(), &RepairRecord::id);
  const bool waits = found != operations.end() &&
                     (repair::needs_person(*found) || found->state == State::prepared);
  if (!waits) {
    return make_error("{} is not an operation that waits to be resolved",
                      printable(parts.front(), 80));
  }
  const auto* const state = std::ranges::find(repair::kStateWords, parts.back());
  found->state = static_cast<State>(state - repair::kStateWords.begin());
  found->at = utc_now();
  found->who = who(command, caller);
  found->why = "resolved by a person";
  TRY(journal.add(*found));
  return fmt::format("{}: {} {}\n", found->node, to_string(found->rung), to_string(found->state));
}

Result<std::vector<std::string>> nodes_of(const RepairCommand& command, const Site& site) {
  if (!command.nodes.empty()) return command.nodes;
  TRY_ASSIGN(const auto all, site.controller->nodes(""));
  std::vector<std::string> names;
  for (const auto& each : all) {
    if (was_drained_by_us(each)) names.push_back(each.name);
  }
  return names;
}

}  // namespace

int run_repair(const RepairCommand& command, const Caller& caller) {
  const auto rules =
      repair::read_repair_rules(sources_of(caller.variables, command.root, {}), command.root);
  if (!rules) return fail(caller, bad_configuration(rules.error()).value());
  if (!command.resolve.empty()) {
    const auto done = resolve(command, *rules, caller);
    if (!done) return fail(caller, undecided(done.error()).value());
    return deliver(caller, "", *done, kExitHealthy);
  }
  const auto site = reach_site(command.root, caller);
  if (!site) return fail(caller, site.error());
  auto slurm = slurm::find_installation(site->rules, caller.variables);
  if (!slurm) return fail(caller, undecided(slurm.error()).value());
  const auto nodes = nodes_of(command, *site);
  if (!nodes) return fail(caller, undecided(nodes.error()).value());
  int status = kExitHealthy;
  for (const auto& node : *nodes) {
    NodeRepair repair(command, caller, *rules, *site, *slurm, node);
    const auto lines = repair.run();
    if (!lines) return fail(caller, undecided(lines.error()).value());
    const int ended = deliver(caller, "", *lines, repair.failed() ? kExitUnhealthy : kExitHealthy);
    status = std::max(status, ended);
    if (!repair.claims()) continue;
    status = std::max(status, run_claim({.nodes = {node}, .root = command.root}, caller));
  }
  return status;
}

}  // namespace muster::app
