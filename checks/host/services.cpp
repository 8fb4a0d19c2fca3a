// SPDX-License-Identifier: Apache-2.0
// host.services: systemd units that must be active are, and those that must not be are not.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_services {
namespace {

// Units may be named as systemctl takes them, without ".service".
std::string unit_name(std::string_view name) {
  constexpr std::string_view kKinds =
      "service socket timer mount automount target path slice scope swap device";
  const auto dot = name.rfind('.');
  const auto kinds = split(kKinds, ' ');
  const bool complete =
      dot != std::string_view::npos && std::ranges::count(kinds, name.substr(dot + 1)) > 0;
  return complete ? std::string(name) : fmt::format("{}.service", name);
}

void judge_active(const Services& services, const Words& names, Findings& findings) {
  for (const auto& name : names) {
    const std::string unit = unit_name(name);
    if (!matching(*services.active, unit).empty()) continue;
    const bool has_failed = services.failed && !matching(*services.failed, unit).empty();
    const std::string state = has_failed ? "failed" : "inactive";
    findings.push_back(failed(printable(unit),
                              fmt::format("{} is {}, expected active", unit, state),
                              Remedy::restart_service, {state, "active"}));
  }
}

void judge_inactive(const Services& services, const Words& names, Findings& findings) {
  for (const auto& name : names) {
    for (const auto& unit : matching(*services.active, unit_name(name))) {
      findings.push_back(failed(printable(unit),
                                fmt::format("{} is active, expected inactive", printable(unit)),
                                Remedy::fix_config, {"active", "inactive"}));
    }
  }
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  const ServiceLimits& limits = profile.host->services;
  if (limits.active.empty() && limits.inactive.empty()) return not_expected("services");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const ServiceLimits& limits = profile.host->services;
  const Services& services = *snapshot.services;
  if (!services.active) return {not_known(kNode, "the list of active services", services.active)};

  Findings findings;
  judge_active(services, limits.active, findings);
  judge_inactive(services, limits.inactive, findings);
  return or_pass(std::move(findings),
                 fmt::format("{} active or inactive as expected",
                             counted(limits.active.size() + limits.inactive.size(), "service")));
}

}  // namespace

constinit const Check check{
    .id = "host.services",
    .title = "Services that jobs need are active, and those that disturb them are not",
    .why =
        "Compares the active systemd units with those that the profile requires and forbids. "
        "Without nvidia-fabricmanager the GPUs of an NVSwitch machine cannot be used, without "
        "munge or slurmd the node takes no jobs; an update or a scan in the background makes one "
        "node of a parallel job slow.",
    .fix =
        "systemctl status UNIT and journalctl -u UNIT say why it stopped; then systemctl restart "
        "UNIT. Turn off what must not run: systemctl disable --now UNIT.",
    .needs = Probe::services,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::host_services
