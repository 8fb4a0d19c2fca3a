// SPDX-License-Identifier: Apache-2.0
#include "lib/repair/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"

namespace muster::repair {
namespace {

constexpr std::chrono::hours kWeek{7 * 24};
constexpr std::string_view kBreaker = "breaker ";  // with the check, an incident in the journal

std::string resolve(const RepairRecord& operation) {
  return fmt::format(
      "find out what happened, then run muster repair --resolve {}=succeeded, "
      "failed or cancelled",
      operation.id);
}

Time time_of(const RepairRecord& record) { return parse_utc(record.at).value_or(Time::max()); }

bool is_breaker(const RepairRecord& record) { return record.incident.starts_with(kBreaker); }

std::chrono::seconds whole(Seconds time) {
  return std::chrono::seconds(static_cast<std::int64_t>(time.value));
}

bool names_xid(std::string_view text, std::string_view number) {
  const auto words = fmt::format("XID {}", number);
  for (auto at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1)) {
    const auto end = at + words.size();
    if (end == text.size() || std::isdigit(static_cast<unsigned char>(text[end])) == 0) return true;
  }
  return false;
}

bool shares_a_part(const RepairRecord& record, const std::vector<std::string>& serials) {
  return std::ranges::any_of(record.serials, [&](const std::string& serial) {
    return std::ranges::find(serials, serial) != serials.end();
  });
}

// Whether an action was started and may have had an effect.
bool was_done(const RepairRecord& record) {
  return record.rung != Rung::claim && !is_breaker(record) &&
         (record.state == State::reserved || record.state == State::ambiguous ||
          record.state == State::succeeded || record.state == State::failed);
}

class Ladder {
 public:
  explicit Ladder(const RepairCase& repair) : case_(repair) {}

  RepairStep run() {
    if (auto stop = stopped_by_journal(); stop.what != Advice::nothing) return stop;
    if (!case_.owner.empty()) return stop(fmt::format("left alone: {}", case_.owner));
    if (case_.drain.check.empty()) return {.why = "muster has not drained it"};
    if (case_.passes.value_or(false)) {
      return {.why = fmt::format("{} passes now: muster's hook resumes it after enough clean runs",
                                 case_.drain.check)};
    }
    const auto rung = choose();
    if (!rung) return {.why = fmt::format("{}, which a person must do", why_)};
    return *rung == Rung::claim ? claim() : action(*rung);
  }

 private:
  static RepairStep stop(std::string why) { return {.what = Advice::stop, .why = std::move(why)}; }

  static RepairStep wait(std::string why) { return {.what = Advice::wait, .why = std::move(why)}; }

  // Handles an operation or claim that is under way, or that a person must resolve.
  [[nodiscard]] RepairStep stopped_by_journal() const {
    for (const auto& each : case_.operations) {
      if (is_breaker(each) && needs_person(each)) {
        return stop(fmt::format("all repairs are stopped: {}; {}", each.why, resolve(each)));
      }
    }
    const auto open = std::ranges::find_if(case_.operations, [&](const RepairRecord& each) {
      return each.node == case_.drain.node && is_open(each.state) && !is_breaker(each);
    });
    return open == case_.operations.end() ? RepairStep() : stopped_by(*open);
  }

  [[nodiscard]] RepairStep stopped_by(const RepairRecord& operation) const {
    if (operation.rung == Rung::claim) {
      return stop(fmt::format("left alone: claim {} is {} since {}{}", operation.id,
                              to_string(operation.state), operation.at,
                              operation.state == State::prepared
                                  ? fmt::format("; to withdraw it, run muster repair --resolve "
                                                "{}=cancelled",
                                                operation.id)
                                  : ""));
    }
    const bool reboots = operation.rung == Rung::reboot && operation.state == State::reserved;
    if (reboots && case_.now <= time_of(operation) + whole(case_.rules.reboot_within)) {
      return wait(fmt::format("the reboot of {} is under way", operation.at));
    }
    return stop(fmt::format("{} {} of {} {}; {}", to_string(operation.rung), operation.id,
                            operation.at,
                            operation.state == State::ambiguous ? "had an unknown outcome"
                                                                : "is under way or was interrupted",
                            resolve(operation)));
  }

  // Starts at the rung for the finding's remedy, and goes above those that were tried.
  std::optional<Rung> choose() {
    auto rung = first_rung();
    if (!rung) return std::nullopt;
    if (*rung != Rung::claim && goes_directly_to_claim()) return Rung::claim;
    while (*rung != Rung::claim && was_tried(*rung)) {
      why_ = fmt::format("{} was tried and did not help", to_string(*rung));
      rung = above(*rung);
    }
    if (*rung == Rung::reset_gpu && !case_.processes) {
      why_ = "the processes on the GPUs are unknown, so no GPU is reset";
      rung = Rung::reboot;
      if (was_tried(*rung)) rung = Rung::claim;
    }
    if (*rung == Rung::claim) return rung;
    const auto count = actions_in_a_week();
    if (count >= case_.rules.actions_per_week) {
      why_ = fmt::format("{} within 7 days on this node or its parts",
                         counted(static_cast<std::uint64_t>(count), "action"));
      return Rung::claim;
    }
    return rung;
  }

  std::optional<Rung> first_rung() {
    switch (case_.remedy) {
      case Remedy::restart_service:
        why_ = "the remedy is to restart a service";
        return Rung::restart_service;
      case Remedy::reset_gpu:
        why_ = "the remedy is to reset the GPU";
        return Rung::reset_gpu;
      case Remedy::reboot:
        why_ = "the remedy is to reboot";
        return Rung::reboot;
      case Remedy::reseat_or_replace:
      case Remedy::report_to_provider:
        why_ = "a part must be replaced";
        return Rung::claim;
      case Remedy::restart_app:
      case Remedy::fix_config:
      case Remedy::watch:
      case Remedy::none:
        break;
    }
    why_ = "muster cannot apply the remedy: fix the configuration or the program";
    return std::nullopt;
  }

  // A reset or reboot would lose the physical host, and rarely helps.
  bool goes_directly_to_claim() {
    const std::string_view check = case_.drain.check;
    for (const std::string_view number : {"79", "95"}) {
      if (names_xid(case_.message, number)) why_ = fmt::format("XID {} is hard evidence", number);
    }
    const bool is_fabric = check.starts_with("gpu.fabric") || check.starts_with("gpu.sxid");
    if (is_fabric && case_.remedy != Remedy::restart_service) why_ = "it is an error of the fabric";
    const bool was_rebooted =
        !case_.drain_boot.empty() && !case_.boot_id.empty() && case_.boot_id != case_.drain_boot;
    if (check == "gpu.present" && (was_rebooted || was_tried(Rung::reboot))) {
      why_ = "a GPU is missing after a reboot";
    }
    return !why_.starts_with("the remedy");
  }

  [[nodiscard]] bool was_tried(Rung rung) const {
    const auto incident = incident_of(case_.drain);
    return std::ranges::any_of(case_.operations, [&](const RepairRecord& each) {
      return each.node == case_.drain.node && each.incident == incident && each.rung == rung &&
             was_done(each);
    });
  }

  [[nodiscard]] Rung above(Rung rung) const {
    const bool is_gpu = case_.drain.device.starts_with("gpu");
    if (rung == Rung::restart_service && is_gpu) return Rung::reset_gpu;
    return rung == Rung::reboot ? Rung::claim : Rung::reboot;
  }

  [[nodiscard]] int actions_in_a_week() const {
    return static_cast<int>(std::ranges::count_if(case_.operations, [&](const RepairRecord& each) {
      const bool is_same = each.node == case_.drain.node || shares_a_part(each, case_.serials);
      return is_same && was_done(each) && time_of(each) > case_.now - kWeek;
    }));
  }

  [[nodiscard]] RepairStep claim() const {
    if (case_.automatic) return stop(fmt::format("{}: an admin prepares the claim", why_));
    if (case_.evidence_failed) {
      return stop(
          fmt::format("{}, and a claim needs evidence, which could not be collected", why_));
    }
    return {.what = Advice::act, .rung = Rung::claim, .why = why_};
  }

  [[nodiscard]] RepairStep action(Rung rung) const {
    const std::string name(to_string(rung));
    if (case_.automatic && std::ranges::count(case_.rules.automatic, name) == 0) {
      return stop(fmt::format("repair.automatic in muster.yaml does not list {}", name));
    }
    if (!case_.jobs) return wait("the jobs on the node could not be read from Slurm");
    if (*case_.jobs > 0) return wait(fmt::format("jobs on the node: {}", *case_.jobs));
    if (case_.processes.value_or(0) > 0) {
      return wait(fmt::format("processes on its GPUs: {}", *case_.processes));
    }
    if (case_.boot_id.empty()) return stop("the node could not be reached");
    if (auto limit = limited(); limit.what != Advice::nothing) return limit;
    RepairStep step{.what = Advice::act, .rung = rung, .why = why_};
    if (rung == Rung::restart_service) {
      step.unit = unit();
      if (step.unit.empty()) return stop("the finding is about no unit of repair.services");
    }
    return step;
  }

  [[nodiscard]] RepairStep limited() const {
    if (auto tripped = breaker(); tripped.what != Advice::nothing) return tripped;
    std::set<std::string_view> busy;
    for (const auto& each : case_.operations) {
      const bool acts = each.rung != Rung::claim && !is_breaker(each) && needs_person(each);
      if (acts && each.node != case_.drain.node) busy.insert(each.node);
    }
    const auto share = static_cast<double>(case_.nodes) * case_.rules.most_at_once.value / 100;
    const auto most = std::max<std::size_t>(
        1, std::min(static_cast<std::size_t>(share),
                    static_cast<std::size_t>(std::max(case_.rules.most_at_once_nodes, 0))));
    if (busy.size() < most) return {};
    return wait(fmt::format("nodes under repair: {} of {} that repair.most_at_once allows",
                            busy.size(), most));
  }

  // If many nodes have the same failure, a wrong limit or a common cause is more likely. Drains
  // from before a person resolved the last stop do not count, and hooks do not repair them.
  [[nodiscard]] RepairStep breaker() const {
    constexpr std::size_t kFewest = 3;
    const auto& check = case_.drain.check;
    Time resolved{};
    for (const auto& each : case_.operations) {
      if (each.incident == fmt::format("{}{}", kBreaker, check)) {
        resolved = std::max(resolved, time_of(each));
      }
    }
    if (case_.automatic && case_.drain.at <= resolved) {
      return stop("the drain is older than the resolved stop of its check");
    }
    const auto since = std::max(resolved, case_.now - whole(case_.rules.breaker_window));
    const auto count = static_cast<std::size_t>(std::ranges::count_if(
        case_.drains, [&](const auto& each) { return each.check == check && each.at > since; }));
    const auto most = static_cast<double>(case_.nodes) * case_.rules.most_by_check.value / 100;
    if (count < kFewest || static_cast<double>(count) <= most) return {};
    auto tripped = stop(fmt::format("{} fails on {} of {} nodes within {}", check, count,
                                    case_.nodes, to_string(case_.rules.breaker_window)));
    tripped.breaker = true;
    return tripped;
  }

  // Returns the unit that the finding is about, if the site allows muster to restart it.
  [[nodiscard]] std::string unit() const {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOwners{
        {{"gpu.fabric", "nvidia-fabricmanager.service"},
         {"gpu.nvlink_state", "nvidia-fabricmanager.service"},
         {"ib.", "openibd.service"}}};
    for (const auto& each : case_.rules.services) {
      if (case_.drain.device == each) return each;
    }
    if (case_.drain.device.ends_with(".service")) return "";
    for (const auto& [check, of] : kOwners) {
      if (!case_.drain.check.starts_with(check)) continue;
      return std::ranges::count(case_.rules.services, of) > 0 ? std::string(of) : "";
    }
    return "";
  }

  const RepairCase& case_;
  std::string why_;
};

}  // namespace

RepairStep next_step(const RepairCase& repair) { return Ladder(repair).run(); }

std::string incident_of(const RepairDrain& drain) {
  return fmt::format("{} {} {}", drain.check, drain.device.empty() ? "node" : drain.device,
                     utc(drain.at));
}

bool needs_person(const RepairRecord& operation) {
  return operation.state == State::reserved || operation.state == State::ambiguous;
}

std::optional<RepairRecord> ended_reboot(const RepairCase& repair) {
  const auto found = std::ranges::find_if(repair.operations, [&](const RepairRecord& each) {
    return each.node == repair.drain.node && each.rung == Rung::reboot &&
           each.state == State::reserved && !is_breaker(each);
  });
  if (found == repair.operations.end()) return std::nullopt;
  auto ended = *found;
  ended.at = utc(repair.now);
  const bool was_rebooted = !repair.boot_id.empty() && repair.boot_id != found->boot_id;
  const bool was_resumed = found->incident != incident_of(repair.drain);  // by muster's hook
  const bool is_over = repair.now > time_of(*found) + whole(repair.rules.reboot_within);
  if (!repair.owner.empty()) {
    ended.state = State::superseded;
    ended.why = repair.owner;
  } else if (was_rebooted && (was_resumed || repair.passes)) {
    const bool passes = was_resumed || *repair.passes;
    ended.state = passes ? State::succeeded : State::failed;
    ended.why = fmt::format("rebooted, and {} {}", found->check, passes ? "passes" : "still fails");
  } else if (is_over) {
    ended.state = State::ambiguous;
    ended.why =
        fmt::format("not known to be back within {}", to_string(repair.rules.reboot_within));
  } else {
    return std::nullopt;
  }
  return ended;
}

}  // namespace muster::repair
