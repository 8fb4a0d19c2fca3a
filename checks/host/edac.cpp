// SPDX-License-Identifier: Apache-2.0
// host.edac: memory errors that the memory controllers counted.

#include <fmt/format.h>

#include "checks/catalogue.hpp"
#include "checks/shared/rise.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/units.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_edac {
namespace {

// The rate is taken over the last hour: long enough to be steady between runs every few minutes,
// short enough that a DIMM which went bad just now is not averaged away.
constexpr double kWindowS = kHour;

Finding judge_rate(const Snapshot& snapshot, const EdacController& controller,
                   double most_per_hour) {
  const Fact<double>& uptime = snapshot.identity->uptime_s;
  if (!controller.corrected) {
    return not_known(controller.name, "the number of corrected memory errors",
                     controller.corrected);
  }
  if (!uptime) return not_known(controller.name, "the time since boot", uptime);
  const auto delta = rise_of(snapshot, fmt::format("edac.{}.corrected", controller.name),
                             *controller.corrected, kWindowS);
  if (!delta) {
    // The rule that fails a node was judged; only the rate has to wait for a second observation.
    return passed(
        fmt::format(
            "no uncorrected memory errors; {} so far, their rate is judged from the next run on",
            counted(*controller.corrected, "corrected error")),
        controller.name);
  }
  if (delta->per_hour() <= most_per_hour) {
    return passed(
        fmt::format("no uncorrected memory errors; {:.1f} corrected per hour", delta->per_hour()),
        controller.name);
  }
  return warned(controller.name,
                fmt::format("{} in the last {}, {:.1f} per hour; expected at most {:g}",
                            counted(delta->increments, "corrected memory error"),
                            in_time(delta->seconds), delta->per_hour(), most_per_hour),
                Remedy::watch, {delta->per_hour(), most_per_hour, "errors/h"});
}

Finding judge_controller(const Snapshot& snapshot, const EdacController& controller,
                         const Limit<double>& most_per_hour) {
  if (!controller.uncorrected) {
    return not_known(controller.name, "the number of uncorrected memory errors",
                     controller.uncorrected);
  }
  if (*controller.uncorrected > 0) {
    return failed(controller.name,
                  fmt::format("{} since the driver was loaded, expected none",
                              counted(*controller.uncorrected, "uncorrected memory error")),
                  hardware_remedy(snapshot), {count_value(*controller.uncorrected), 0, "errors"});
  }
  if (!most_per_hour) return passed("no uncorrected memory errors", controller.name);
  return judge_rate(snapshot, controller, *most_per_hour);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const Fact<std::vector<EdacController>>& edac = snapshot.kernel->edac;
  if (edac.is_unreadable()) return {not_known(kNode, "the list of memory controllers", edac)};
  if (!edac || edac->empty()) {
    return {skipped(fmt::format("no memory controller reports errors here{}{}", edac ? "" : ": ",
                                edac ? "" : edac.why()))};
  }

  const auto& most_per_hour = profile.host->edac.corrected_warn_above_per_hour;
  Findings findings;
  for (const auto& controller : *edac) {
    findings.push_back(judge_controller(snapshot, controller, most_per_hour));
  }
  return findings;
}

}  // namespace

constinit const Check check{
    .id = "host.edac",
    .title = "No uncorrected memory errors, and few corrected ones",
    .why =
        "Reads the error counters of the memory controllers (EDAC). An uncorrected error has "
        "destroyed data: the job that ran then cannot be trusted. Many corrected errors announce "
        "an uncorrected one. Virtual machines have no such counters, and the check is skipped.",
    .fix =
        "Find the DIMM (edac-util --verbose, ras-mc-ctl --errors, the machine's event log) and "
        "replace it. The counters start at zero when the machine is booted.",
    .needs = Probe::kernel | Probe::identity,
    .judge = judge,
};

}  // namespace muster::checks::host_edac
