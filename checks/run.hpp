// SPDX-License-Identifier: Apache-2.0
// Judges a snapshot by the selected checks and makes the report: required sections, the profile's
// policy, fault codes, the verdict.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "checks/check.hpp"
#include "lib/report/report.hpp"

namespace muster {

// The profile's policy of a check, or the defaults.
[[nodiscard]] Policy policy_of(const Profile& profile, std::string_view id);

// The Azure impact category of a fault code; empty for an unknown code. Only failures have codes
// and categories: a check that could not judge is never reported as a hardware fault.
[[nodiscard]] std::string impact_category(std::string_view code);

struct Selection {
  std::string context = "manual";
  std::vector<std::string> only;  // globs; empty for all of the context
  std::vector<std::string> skip;  // globs
  std::string also = {};          // a check that runs even if the context skips it
};

// The checks that run, in the catalogue's order. `--only` selects checks that the context skips,
// but not those that the profile disables.
[[nodiscard]] std::vector<const Check*> select_checks(const Profile& profile,
                                                      const Selection& selection);

// "the nvml probe reports timeout: no answer within 2 s".
template <class T>
[[nodiscard]] std::string why_missing(Probe probe, const Section<T>& section) {
  return fmt::format("the {} probe reports {}: {}", to_string(probe), to_string(section.status),
                     section.reason);
}

// The sections that those checks need.
[[nodiscard]] ProbeSet probes_needed(const std::vector<const Check*>& checks);

// The GPU facts that they ask for.
[[nodiscard]] NvmlParts parts_asked(const std::vector<const Check*>& checks);

// The sections that the selected checks need but that were not observed, in the order of the
// probes. A section is required if the profile's `must_observe` names its group or the PCI bus has
// such hardware, and if a check that needs it counts in the context (`count_unknown`). Absent
// sections that are neither required nor on the bus are left out.
[[nodiscard]] std::vector<NotObserved> not_observed(const Snapshot& snapshot,
                                                    const Profile& profile, const Context& context,
                                                    const std::vector<const Check*>& selected);

// The caller sets `started`, `duration_ms` and `profile_evidence` of the report.
[[nodiscard]] Report judge(const Snapshot& snapshot, const Profile& profile,
                           const Selection& selection);

}  // namespace muster
