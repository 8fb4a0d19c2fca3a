// SPDX-License-Identifier: Apache-2.0
// Judges a snapshot by the selected checks and makes the report: gates on sections, the profile's
// policy, fault codes, the verdict.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "checks/check.hpp"
#include "lib/report/report.hpp"

namespace muster {

// What the profile says of a check; the defaults where it says nothing.
[[nodiscard]] Policy policy_of(const Profile& profile, std::string_view id);

struct Selection {
  std::string context = "manual";
  std::vector<std::string> only;  // globs; empty for all that the context runs
  std::vector<std::string> skip;  // globs
  std::string also = {};          // a check that runs whatever the context leaves out
};

// The checks that run, in the catalogue's order. `--only` reaches checks that the context leaves
// out, and nothing that the profile disabled.
[[nodiscard]] std::vector<const Check*> select_checks(const Profile& profile,
                                                      const Selection& selection);

// "the nvml probe says timeout: no answer within 2 s".
template <class T>
[[nodiscard]] std::string why_missing(Probe probe, const Section<T>& section) {
  return fmt::format("the {} probe says {}: {}", to_string(probe), to_string(section.status),
                     section.reason);
}

// What those checks need to be observed.
[[nodiscard]] ProbeSet probes_needed(const std::vector<const Check*>& checks);

// Which facts of GPUs they ask for.
[[nodiscard]] NvmlParts parts_asked(const std::vector<const Check*>& checks);

// What a run needed to see and could not: the sections that the selected checks need and that were
// not observed, in the order of the probes. A section is required where the profile's
// `must_observe` names its group, or where the PCI bus has such hardware, and a check that needs it
// counts in the context (`count_unknown`). What is merely absent, and neither required nor on the
// bus, is left out: nothing was there to see. In coverage.cpp.
[[nodiscard]] std::vector<NotObserved> not_observed(const Snapshot& snapshot,
                                                    const Profile& profile, const Context& context,
                                                    const std::vector<const Check*>& selected);

// Pure. `started`, `duration_ms` and `profile_evidence` of the report are the caller's.
[[nodiscard]] Report judge(const Snapshot& snapshot, const Profile& profile,
                           const Selection& selection);

}  // namespace muster
