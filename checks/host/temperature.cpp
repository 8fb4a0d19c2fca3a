// SPDX-License-Identifier: Apache-2.0
// host.temperature: no part of the machine is as hot as its firmware calls critical.
#include <optional>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks::host_temperature {
namespace {

// Firmware that knows no limit sometimes names zero.
constexpr double kLeastLimitC = 40;
constexpr double kMarginC = 5;

// The lower of the limits that the zone has of its own.
std::optional<double> limit_of(const ThermalZone& zone) {
  std::optional<double> least;
  for (const auto* limit : {&zone.critical_c, &zone.hot_c}) {
    if (!*limit || **limit < kLeastLimitC) continue;
    if (!least || **limit < *least) least = **limit;
  }
  return least;
}

std::optional<Finding> judge_zone(const Snapshot& snapshot, const ThermalZone& zone, double limit) {
  if (*zone.now_c < limit - kMarginC) return std::nullopt;
  const bool over = *zone.now_c >= limit;
  return about(
      zone.name, over ? Outcome::fail : Outcome::warn,
      fmt::format("{} is at {:.0f} C, its own limit is {:.0f} C", zone.name, *zone.now_c, limit),
      over ? hardware_remedy(snapshot) : Remedy::watch, {*zone.now_c, limit, "C"});
}

Findings judge(const Snapshot& snapshot, const Profile& /*profile*/) {
  const auto& zones = snapshot.kernel->thermal_zones;
  if (zones.is_absent()) return {skipped("the kernel knows no temperatures here")};
  if (!zones) return {not_known(kNode, "the temperature of the machine", zones)};
  Findings findings;
  std::uint64_t judged = 0;
  for (const auto& zone : *zones) {
    const auto limit = limit_of(zone);
    if (!zone.now_c || !limit) continue;
    ++judged;
    append(findings, judge_zone(snapshot, zone, *limit));
  }
  if (judged == 0) return {skipped("no zone tells a temperature and a limit of its own")};
  return or_pass(std::move(findings),
                 fmt::format("{} below their own limits", counted(judged, "temperature")));
}

}  // namespace

constinit const Check check{
    .id = "host.temperature",
    .title = "No part of the machine is at its own limit of temperature",
    .why =
        "The kernel knows the temperatures of processors and boards (Grace tells those of its "
        "cores and memory), and the firmware says from where each is hot or critical: there the "
        "machine slows down, and then switches itself off in the middle of a job. Zones without a "
        "limit are not judged; virtual machines have none.",
    .fix =
        "Look at fans, air flow and coolant of the node and its neighbours, and at the firmware's "
        "log (ipmitool sel list). 5 C below the limit is a warning.",
    .needs = Probe::kernel | Probe::identity,
    .judge = judge,
};

}  // namespace muster::checks::host_temperature
