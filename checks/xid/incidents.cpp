// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <array>
#include <tuple>

#include "checks/shared/gpus.hpp"
#include "checks/shared/kernel_log.hpp"
#include "checks/xid/xids.hpp"

namespace muster::checks::xid {
namespace {

// Worst first; a class defined by the site is like `degraded`.
std::size_t rank_of(std::string_view kind) {
  constexpr std::array kRanks{kFatal, kDegraded, kApplication, kWithdrawn, kIgnored};
  const auto* found = std::ranges::find(kRanks, kind);
  return found == kRanks.end() ? 1 : static_cast<std::size_t>(found - kRanks.begin());
}

bool is_worse(const XidMeaning& a, const XidMeaning& b) {
  return std::pair(rank_of(a.kind), a.order) < std::pair(rank_of(b.kind), b.order);
}

void add_event(XidIncident& incident, const XidEvent& event, XidMeaning meaning) {
  incident.last_us = std::max(incident.last_us, event.last_us);
  auto& part = incident.parts[event.code];
  part.lines += event.lines;
  part.last_us = std::max(part.last_us, event.last_us);
  part.events.push_back(&event);
  if (part.event == nullptr || !is_worse(part.meaning, meaning)) {
    part.meaning = std::move(meaning);
    part.event = &event;
  }
}

using Times = std::map<std::string, std::uint64_t>;  // by address

struct Incidents {
  std::vector<XidIncident> all;
  Times recovered_us;  // when the driver last reported that the GPU needs no recovery
  Times called_us;     // when it last requested one
};

// Groups events, in order of time, into incidents.
Incidents incidents_of(const XidLog& log, const XidRules& rules, bool of_nvswitches,
                       double coalesce_us) {
  Incidents found;
  std::map<std::string, std::size_t> newest;
  for (const auto& event : log.events) {
    if (event.nvswitch != of_nvswitches) continue;
    XidMeaning meaning = rules.meaning_of(event);
    if (meaning.recovered) found.recovered_us[event.address] = event.last_us;
    if (meaning.asks_recovery) found.called_us[event.address] = event.last_us;
    const auto [entry, added] = newest.try_emplace(event.address, found.all.size());
    const bool goes_on =
        !added && static_cast<double>(event.first_us) <=
                      static_cast<double>(found.all[entry->second].last_us) + coalesce_us;
    if (!goes_on) {
      entry->second = found.all.size();
      found.all.push_back({.address = event.address, .first_us = event.first_us});
    }
    add_event(found.all[entry->second], event, std::move(meaning));
  }
  return found;
}

template <class A, class B>
bool are_near(const A& a, const B& b, double most_us) {
  const auto gap = [](std::uint64_t earlier, std::uint64_t later) {
    return static_cast<double>(later) - static_cast<double>(earlier);
  };
  return gap(a.last_us, b.first_us) <= most_us && gap(b.last_us, a.first_us) <= most_us;
}

// True if each of the events is near one of the others. False for a storm, which is too expensive
// to compare.
bool all_settled(const XidPart& part, const XidPart& others, double most_us) {
  constexpr std::size_t kStorm = 1000;
  if (part.events.size() > kStorm || others.events.size() > kStorm) return false;
  return std::ranges::all_of(part.events, [&](const XidEvent* event) {
    return std::ranges::any_of(
        others.events, [&](const XidEvent* other) { return are_near(*event, *other, most_us); });
  });
}

// True if another XID of the incident shows that this one is not fatal.
bool is_settled(const XidPart& part, const XidIncident& incident, double most_us) {
  if (part.meaning.rule == nullptr) return false;
  return std::ranges::any_of(part.meaning.rule->settled_by, [&](const auto& number) {
    const auto code = parse_unsigned(number);
    if (!code) return false;
    const auto other = incident.parts.find(static_cast<unsigned>(*code));
    return other != incident.parts.end() && all_settled(part, other->second, most_us);
  });
}

// Lowers fatal errors that ended with a reset, that NVML withdrew, or that are settled.
void downgrade_resolved(XidIncident& incident, std::uint64_t reset_us, std::uint64_t withdrawn_us,
                        double most_us) {
  for (auto& entry : incident.parts) {
    XidPart& part = entry.second;
    if (part.meaning.kind != kFatal) continue;
    if (part.last_us <= reset_us) {
      part.meaning.kind = kIgnored;
    } else if (part.last_us <= withdrawn_us) {
      part.meaning.kind = kWithdrawn;
    } else if (is_settled(part, incident, most_us)) {
      part.meaning.kind = kDegraded;
      part.meaning.remedy = Remedy::watch;
    }
  }
}

void find_cause(XidIncident& incident) {
  const auto worst = std::ranges::min_element(incident.parts, [](const auto& a, const auto& b) {
    return is_worse(a.second.meaning, b.second.meaning);
  });
  incident.cause = worst->first;
}

Remedy remedy_of(const Snapshot& snapshot, const XidMeaning& meaning) {
  const bool in_vm =
      meaning.rule != nullptr && meaning.kind == kFatal && snapshot.identity->hypervisor;
  const Remedy remedy = remedy_here(
      snapshot, in_vm ? meaning.rule->remedy_in_vm.value_or(meaning.remedy) : meaning.remedy);
  return remedy == Remedy::reset_gpu ? gpu::reset_remedy(snapshot) : remedy;
}

// Returns the part with the most drastic remedy: the cause unless another asks for more.
const XidPart& worst_part(const Snapshot& snapshot, const XidGroup& group) {
  const XidPart* worst = &group.newest().lead();
  for (const auto& incident : group.incidents) {
    for (const auto& [code, part] : incident.parts) {
      if (part.meaning.kind != worst->meaning.kind) continue;
      // A later request of the driver replaces an earlier one.
      if (code == group.cause && part.meaning.asks_recovery) continue;
      const Remedy remedy = remedy_of(snapshot, worst->meaning);
      if (stronger(remedy, remedy_of(snapshot, part.meaning)) != remedy) worst = &part;
    }
  }
  return *worst;
}

// The consequences of the cause: ", with 45, 119".
std::string consequences_text(const XidIncident& incident) {
  std::vector<unsigned> codes;
  for (const auto& [code, part] : incident.parts) {
    if (code != incident.cause) codes.push_back(code);
  }
  return codes.empty() ? std::string() : fmt::format(", with {}", fmt::join(codes, ", "));
}

std::string process_text(const XidEvent& event, const std::string& job) {
  std::string text;
  if (!event.process.empty() && event.pid) {
    text = fmt::format("{} (pid {})", event.process, *event.pid);
  } else if (event.pid) {
    text = fmt::format("pid {}", *event.pid);
  } else {
    text = event.process;
  }
  if (!job.empty()) text += fmt::format("{}job {}", text.empty() ? "" : " of ", job);
  return text;
}

std::string count_text(const XidGroup& group) {
  std::uint64_t lines = 0;
  for (const auto& incident : group.incidents) lines += incident.lead().lines;
  if (group.incidents.size() == 1 && lines == 1) return {};
  return fmt::format("{} ({})", counted(group.incidents.size(), "incident"),
                     counted(lines, "line"));
}

std::vector<SeenBy> seen_by(const XidMeaning& meaning, const std::string& device,
                            const std::string& address) {
  std::vector<SeenBy> seen;
  if (meaning.rule == nullptr) return seen;
  for (const auto& check : meaning.rule->seen_by) {
    seen.push_back({.check = check, .device = device});
    if (address != device) seen.push_back({.check = check, .device = address});
  }
  return seen;
}

}  // namespace

bool is_near(const XidGroup& group, const XidEvent& event, Seconds coalesce) {
  return std::ranges::any_of(group.incidents, [&](const XidIncident& incident) {
    return are_near(incident, event, coalesce.value * kMicrosecondsPerSecond);
  });
}

std::vector<XidGroup> group_xids(const XidLog& log, const XidRules& rules, bool of_nvswitches,
                                 Seconds coalesce, double from_us,
                                 const std::set<std::string>& recovered) {
  const double coalesce_us = coalesce.value * kMicrosecondsPerSecond;
  Incidents found = incidents_of(log, rules, of_nvswitches, coalesce_us);
  std::map<std::tuple<std::string, unsigned, std::string>, XidGroup> groups;
  for (auto& incident : found.all) {
    const auto& address = incident.address;
    std::uint64_t withdrawn_us = recovered.contains(address) ? found.called_us[address] : 0;
    // The whole incident for which the driver requested a recovery.
    if (withdrawn_us != 0) withdrawn_us += static_cast<std::uint64_t>(coalesce_us);
    downgrade_resolved(incident, std::max(log.loaded_us(), found.recovered_us[address]),
                       withdrawn_us, coalesce_us);
    find_cause(incident);
    const std::string& kind = incident.lead().meaning.kind;
    const bool in_window = static_cast<double>(incident.last_us) >= from_us;
    if (kind == kIgnored || (kind != kFatal && !in_window)) continue;
    auto& group = groups[{incident.address, incident.cause, kind}];
    group.address = incident.address;
    group.cause = incident.cause;
    group.incidents.push_back(std::move(incident));
  }
  std::vector<XidGroup> result;
  result.reserve(groups.size());
  for (auto& [key, group] : groups) result.push_back(std::move(group));
  return result;
}

Remedy remedy_of(const Snapshot& snapshot, const XidGroup& group) {
  return remedy_of(snapshot, worst_part(snapshot, group).meaning);
}

Finding describe(const Snapshot& snapshot, const ByName<Outcome>& kinds, const XidGroup& group,
                 const XidTexts& words) {
  const XidIncident& incident = group.newest();
  const XidPart& lead = incident.lead();
  const XidMeaning& meaning = lead.meaning;
  const double ago_s = std::max(0.0, words.now_us - static_cast<double>(lead.last_us)) / 1e6;
  std::string message =
      fmt::format("{} {} ({}), {}, {} ago{}", words.name, group.cause, meaning.meaning,
                  meaning.kind, in_time(ago_s), consequences_text(incident));
  const auto add_text = [&](const std::string& part) {
    if (!part.empty()) message += fmt::format("; {}", part);
  };
  add_text(count_text(group));
  add_text(process_text(*lead.event, words.job));
  add_text(lead.event->instance);
  add_text(words.whose);
  add_text(meaning.context);
  const XidPart& worst = worst_part(snapshot, group);
  if (worst.event->code != group.cause) {
    add_text(fmt::format("{} {}: {}", words.name, worst.event->code, worst.meaning.meaning));
  }
  if (meaning.kind == kWithdrawn) {
    add_text("the driver no longer requests a recovery");
    return {.device = words.device,
            .outcome = Outcome::pass,
            .message = message,
            .observed = std::int64_t{group.cause},
            .remedy = Remedy::watch};  // so that the report shows it
  }
  // The driver's request for a recovery is its reaction, not a fault.
  const XidMeaning& fault = worst.meaning.asks_recovery ? meaning : worst.meaning;
  return {.device = words.device,
          .outcome = outcome_of(kinds, meaning.kind),
          .message = std::move(message),
          .observed = std::int64_t{group.cause},
          .remedy = remedy_of(snapshot, worst.meaning),
          .code = fault.rule == nullptr ? std::string() : fault.rule->code,
          .seen_by = seen_by(meaning, words.device, group.address)};
}

}  // namespace muster::checks::xid
