// SPDX-License-Identifier: Apache-2.0
#include "fleet/node_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::fleet {

void NodeHistory::add(const ReportRow& report) {
  add_uptime(report);
  add_seats(report);
  add_findings(report);
  add_failures(report);
  last_ = report.at;
}

void NodeHistory::finish() { end_incidents(std::nullopt); }

void NodeHistory::resume(std::vector<SeatInterval> open_seats,
                         std::vector<FindingInterval> open_findings,
                         std::optional<UptimeInterval> uptime) {
  seats = std::move(open_seats);
  for (std::size_t i = 0; i < seats.size(); ++i) {
    seat_of_slot_[{seats[i].seat.kind, seats[i].seat.slot}] = i;
  }
  findings = std::move(open_findings);
  for (std::size_t i = 0; i < findings.size(); ++i) open_findings_[key_of(findings[i])] = i;
  if (uptime) uptimes = {*uptime};
}

NodeHistory::Key NodeHistory::key_of(const FindingInterval& interval) {
  const auto& finding = interval.finding;
  return {finding.check, finding.device, std::string(to_string(finding.outcome)), finding.code,
          interval.part};
}

// A missing part does not end its seat: a GPU that fell off the bus is still in its slot.
void NodeHistory::add_seats(const ReportRow& report) {
  if (report.fitting == nullptr) return;
  for (const auto& part : *report.fitting) {
    const std::pair slot(part.kind, part.slot);
    const auto held = seat_of_slot_.find(slot);
    if (held != seat_of_slot_.end() && seats[held->second].seat.part == part.part) {
      seats[held->second].last = report.at;
      seats[held->second].seat.device = part.device;
      continue;
    }
    // Ends the seat of the previous part in this slot, and of this part in another slot.
    for (auto open = seat_of_slot_.begin(); open != seat_of_slot_.end();) {
      auto& seat = seats[open->second];
      const bool ends = open->first == slot || seat.seat.part == part.part;
      if (ends) seat.ended = report.at;
      open = ends ? seat_of_slot_.erase(open) : std::next(open);
    }
    seat_of_slot_[slot] = seats.size();
    seats.push_back({.seat = part, .started = report.at, .last = report.at, .ended = {}});
  }
}

// Findings name a part by its device or by its address.
std::optional<std::int64_t> NodeHistory::part_at(const std::string& device) const {
  for (const auto& [slot, place] : seat_of_slot_) {
    const auto& seat = seats[place].seat;
    if (seat.kind != "host" && (seat.device == device || seat.slot == device)) return seat.part;
  }
  return std::nullopt;
}

void NodeHistory::add_findings(const ReportRow& report) {
  const auto& found = report.found;
  for (const auto& finding : found) {
    FindingInterval now{
        .finding = finding, .part = part_at(finding.device), .started = report.at, .ended = {}};
    const auto [open, is_first] = open_findings_.try_emplace(key_of(now), findings.size());
    if (is_first) findings.push_back(std::move(now));
    auto& interval = findings[open->second];
    if (interval.last == report.at) continue;  // a report lists its worst finding first
    interval.finding = finding;
    interval.last = report.at;
    ++interval.reports;
  }
  for (auto open = open_findings_.begin(); open != open_findings_.end();) {
    auto& interval = findings[open->second];
    const auto& [check, device, outcome, code, part] = open->first;
    const bool is_unknown_now =
        std::ranges::any_of(found, [&, &check = check, &device = device](const auto& each) {
          return each.check == check && each.device == device && each.outcome == Outcome::unknown;
        });
    const bool ends =
        interval.last != report.at && report.judged->contains(check) && !is_unknown_now;
    if (ends) interval.ended = report.at;
    open = ends ? open_findings_.erase(open) : std::next(open);
  }
}

void NodeHistory::add_failures(const ReportRow& report) {
  for (const auto& finding : report.found) {
    if (finding.outcome != Outcome::fail) continue;
    const bool is_known = std::ranges::any_of(failures_, [&](const Failure& each) {
      return each.check == finding.check && each.device == finding.device;
    });
    if (is_known) continue;
    failures_.push_back({.check = finding.check,
                         .device = finding.device,
                         .message = finding.message,
                         .part = part_at(finding.device),
                         .boot = report.boot,
                         .at = report.at});
  }
  if (report.verdict != "healthy") return;
  // A healthy benchmark does not say anything about the checks of `muster check`.
  const bool is_cured = report.is_check || std::ranges::all_of(failures_, [&](const Failure& each) {
                          return report.judged->contains(each.check);
                        });
  if (is_cured) end_incidents(report.at);
}

// Failures of one check that began in one report are one incident, and so are failures of several
// checks on the same devices.
void NodeHistory::end_incidents(std::optional<std::int64_t> healthy) {
  struct Group {
    const Failure* first;
    std::set<std::string> devices;
  };
  std::vector<Group> groups;
  for (const auto& failure : failures_) {
    const auto same = std::ranges::find_if(groups, [&](const Group& group) {
      return group.first->check == failure.check && group.first->at == failure.at;
    });
    if (same != groups.end()) {
      same->devices.insert(failure.device);
    } else {
      groups.push_back({&failure, {failure.device}});
    }
  }
  std::vector<Group> joined;
  for (auto& group : groups) {
    const bool is_known = std::ranges::find(joined, group.devices, &Group::devices) != joined.end();
    if (!is_known) joined.push_back(std::move(group));
  }
  if (joined.empty()) return;
  constexpr double kHour_s = 3600;
  const double hours = static_cast<double>(healthy.value_or(last_) - failures_.front().at) /
                       kHour_s / static_cast<double>(joined.size());
  for (const auto& [first, devices] : joined) {
    const bool is_one = devices.size() == 1;
    incidents.push_back({.cause = first->check,
                         .device = is_one ? first->device : counted(devices.size(), "device"),
                         .message = first->message,
                         .part = is_one ? first->part : std::nullopt,
                         .boot = first->boot,
                         .started = first->at,
                         .ended = healthy,
                         .hours = hours});
  }
  failures_.clear();
}

// Between two reports of one boot, the node was up. Without a boot id, longer gaps than about a day
// are unknown.
void NodeHistory::add_uptime(const ReportRow& report) {
  constexpr std::int64_t kLongestGap_s = 26 * 3600;
  if (!uptimes.empty()) {
    auto& open = uptimes.back();
    const bool is_same_boot = open.boot && report.boot && *open.boot == *report.boot;
    const bool is_near = (!open.boot || !report.boot) && report.at - open.ended <= kLongestGap_s;
    if (is_same_boot || is_near) {
      open.ended = report.at;
      if (!open.boot) open.boot = report.boot;
      return;
    }
  }
  uptimes.push_back({.started = report.at, .ended = report.at, .boot = report.boot});
}

}  // namespace muster::fleet
