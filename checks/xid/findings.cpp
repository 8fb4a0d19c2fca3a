// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "checks/shared/gpus.hpp"
#include "checks/shared/kernel_window.hpp"
#include "checks/xid/incidents.hpp"

namespace muster::checks::xid {
namespace {

Remedy remedy_of(const Snapshot& snapshot, const XidMeaning& meaning) {
  const bool own = meaning.rule != nullptr && !meaning.rule->remedy_in_vm.empty() &&
                   meaning.kind == kFatal && snapshot.identity->hypervisor;
  const Remedy remedy = remedy_named(snapshot, own ? meaning.rule->remedy_in_vm : meaning.remedy);
  return remedy == Remedy::reset_gpu ? gpu::reset_remedy(snapshot) : remedy;
}

// ", with 45, 119": what the cause brought about.
std::string others(const XidIncident& incident) {
  std::vector<unsigned> codes;
  for (const auto& [code, part] : incident.parts) {
    if (code != incident.cause) codes.push_back(code);
  }
  return codes.empty() ? std::string() : fmt::format(", with {}", fmt::join(codes, ", "));
}

std::string who(const XidEvent& event, const std::string& job) {
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

std::string how_often(const XidGroup& group) {
  std::uint64_t lines = 0;
  for (const auto& incident : group.incidents) lines += incident.lead().lines;
  if (group.incidents.size() == 1 && lines == 1) return {};
  return fmt::format(
      "{} ({})", counted(group.incidents.size(), "incident"), counted(lines, "line"));
}

std::vector<SeenBy> seen_by(const XidMeaning& meaning,
                            const std::string& device,
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

Finding describe(const Snapshot& snapshot,
                 const std::map<std::string, std::string>& kinds,
                 const XidGroup& group,
                 const XidWords& words) {
  const XidIncident& incident = group.newest();
  const XidPart& lead = incident.lead();
  const XidMeaning& meaning = lead.meaning;
  const double ago_s = std::max(0.0, words.now_us - static_cast<double>(lead.last_us)) / 1e6;
  std::string message = fmt::format("{} {} ({}), {}, {} ago{}",
                                    words.name,
                                    group.cause,
                                    meaning.meaning,
                                    meaning.kind,
                                    in_time(ago_s),
                                    others(incident));
  const auto add = [&](const std::string& part) {
    if (!part.empty()) message += fmt::format("; {}", part);
  };
  add(how_often(group));
  add(who(*lead.event, words.job));
  add(lead.event->instance);
  add(words.whose);
  add(meaning.context);
  return {.device = words.device,
          .outcome = outcome_of(kinds, meaning.kind),
          .message = std::move(message),
          .observed = std::int64_t{group.cause},
          .remedy = remedy_of(snapshot, meaning),
          .code = meaning.rule == nullptr ? std::string() : meaning.rule->code,
          .seen_by = seen_by(meaning, words.device, group.address)};
}

}  // namespace muster::checks::xid
