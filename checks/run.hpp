// SPDX-License-Identifier: Apache-2.0
// Judges a snapshot by the selected checks and makes the report: required sections, the profile's
// policy, fault codes, the verdict, groups of findings, and samples for metrics.
#pragma once

#include <fmt/format.h>

#include "checks/check.hpp"
#include "lib/profile/load.hpp"
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

// Judges a snapshot by those checks. Returns the findings in the order of the checks.
[[nodiscard]] Findings judge_checks(const Snapshot& snapshot, const Profile& profile,
                                    const std::string& context,
                                    const std::vector<const Check*>& checks);

// The caller sets `started`, `duration_ms` and `profile_evidence` of the report.
[[nodiscard]] Report judge(const Snapshot& snapshot, const Profile& profile,
                           const Selection& selection);

// The ids of all checks, in the order of reports.
[[nodiscard]] const std::vector<std::string>& check_ids();

// True if a glob matches any check.
[[nodiscard]] bool names_check(std::string_view glob);

// An error for the first unknown check or probe in a profile, with file and line of its list: a
// misspelt name would silently disable its check. A glob without matches is allowed within a group
// of checks, for checks of later versions.
[[nodiscard]] Result<void> check_names(const Profile& profile);

// load_profile() and check_names().
[[nodiscard]] Result<Profile> read_profile_of(const ProfileSources& sources, std::string_view name);

// The start of a message about facts that could not be observed.
inline constexpr std::string_view kNotJudged = "not judged, ";

// Groups findings with one cause, in their order: the same finding about at least three devices of
// one kind, or all of them; the same about the mounts of one server; and all checks that could not
// judge because probes failed. The message names what only these devices share.
[[nodiscard]] std::vector<FindingGroup> fold(const std::vector<Finding>& findings,
                                             const Snapshot& snapshot);

// The message of a finding without the device's name, serial number and other numbers.
[[nodiscard]] std::string form_of(const Finding& finding);

// The samples for metrics that the findings of a node do not have: distances from limits, error
// rates, XIDs, and the identity of devices. Returns no sample for a fact that was not observed, and
// none of checks that judged nothing.
[[nodiscard]] std::vector<Reading> readings_of(const Snapshot& snapshot, const Profile& profile,
                                               const Report& report);

}  // namespace muster
