// SPDX-License-Identifier: Apache-2.0
// host.clock: the clock is synchronised and uses the expected clocksource.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_clock {
namespace {

constexpr std::string_view kClock = "clock";
constexpr std::string_view kClocksource = "clocksource";

std::string in_ms(double seconds) { return fmt::format("{:.1f} ms", seconds * 1000.0); }

std::optional<Finding> judge_sync(const Snapshot& snapshot, const ClockLimits& limits) {
  const Fact<TimeSync>& clock = snapshot.kernel->clock;
  if (!clock) return not_known_here(snapshot, kClock, "the state of the clock", clock);
  if (limits.synchronised && !clock->synchronised) {
    // The estimated error is meaningless then.
    return warned(kClock, "clock is not synchronised", Remedy::restart_service, {false, true});
  }
  const double error_s = clock->estimated_error_s;
  if (!limits.error_warn_above || error_s <= limits.error_warn_above->value) return std::nullopt;
  return warned(kClock,
                fmt::format("clock may be wrong by {}, expected at most {}", in_ms(error_s),
                            in_ms(limits.error_warn_above->value)),
                Remedy::restart_service, {error_s, limits.error_warn_above->value, "s"});
}

std::optional<Finding> judge_source(const Fact<std::string>& source, const Words& allowed) {
  if (!source) return not_known(kClocksource, "the clocksource", source);
  if (std::ranges::count(allowed, *source) > 0) return std::nullopt;
  const std::string expected = fmt::format("{}", fmt::join(allowed, " or "));
  return warned(kClocksource,
                fmt::format("clocksource is {}, expected {}", printable(*source), expected),
                Remedy::fix_config, {*source, expected});
}

std::string describe(const Kernel& kernel, const ClockLimits& limits) {
  std::vector<std::string> parts;
  if (kernel.clock && kernel.clock->synchronised) {
    parts.push_back(
        fmt::format("clock synchronised within {}", in_ms(kernel.clock->estimated_error_s)));
  }
  if (kernel.clocksource && !limits.clocksource.empty()) {
    parts.push_back(fmt::format("clocksource {}", printable(*kernel.clocksource)));
  }
  return parts.empty() ? std::string("clock as expected")
                       : fmt::format("{}", fmt::join(parts, ", "));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const ClockLimits& limits = profile.host->clock;
  Findings findings;
  if (limits.synchronised || limits.error_warn_above)
    append(findings, judge_sync(snapshot, limits));
  if (!limits.clocksource.empty())
    append(findings, judge_source(snapshot.kernel->clocksource, limits.clocksource));
  return or_pass(std::move(findings), describe(*snapshot.kernel, limits));
}

}  // namespace

constinit const Check check{
    .id = "host.clock",
    .title = "The clock is synchronised and uses the expected clocksource",
    .why =
        "Reads from the kernel whether the clock is synchronised, its maximum error, and its "
        "hardware source. Wrong clocks break the authentication of Slurm and MUNGE and make logs "
        "of different nodes incomparable; a slow clocksource (hpet, acpi_pm) slows every program "
        "that measures time.",
    .fix =
        "Look at chronyc tracking or timedatectl and restart chrony. Clocksource: see "
        "/sys/devices/system/clocksource/clocksource0, and look in the kernel log for "
        "\"clocksource: … marked unstable\".",
    .needs = Probe::kernel | Probe::identity,
    .not_here =
        [](const Snapshot&, const Profile& profile) {
          const ClockLimits& limits = profile.host->clock;
          return unless(
              limits.synchronised || limits.error_warn_above || !limits.clocksource.empty(),
              not_expected("clock state or clocksource"));
        },
    .judge = judge,
};

}  // namespace muster::checks::host_clock
