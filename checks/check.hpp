// SPDX-License-Identifier: Apache-2.0
// A check is a pure function from facts about one node to findings. It opens no file and reads no
// clock or environment, so a test can call it with a literal Snapshot, and a snapshot can be judged
// again later, on another machine or against another profile.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "checks/margins.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/finding.hpp"

namespace muster {

using Findings = std::vector<Finding>;

// The more drastic of two remedies for the same hardware; `a` if either is for something else.
[[nodiscard]] constexpr Remedy stronger(Remedy a, Remedy b) {
  constexpr std::array kLadder{Remedy::none,
                               Remedy::watch,
                               Remedy::reset_gpu,
                               Remedy::reboot,
                               Remedy::reseat_or_replace,
                               Remedy::report_to_provider};
  const auto* place_a = std::ranges::find(kLadder, a);
  const auto* place_b = std::ranges::find(kLadder, b);
  return place_b != kLadder.end() && place_a < place_b ? b : a;
}

// The outcome if a section that a check needs is absent. Sections that timed out or failed always
// make the check `unknown`, with the section's reason.
enum class WhenAbsent {
  unknown,  // this kind of node should have the section
  skip,     // a missing section is normal, such as under another --root
  judge,    // the check itself judges the absence (no RDMA stack: no HCA)
};

struct Check {
  std::string_view id;         // "<group>.<name>", defined in checks/<group>; a stable name
  std::string_view title;      // one line
  std::string_view why;        // a paragraph for `muster explain`: what it looks at, why it matters
  std::string_view fix;        // what an admin should do
  std::string_view code = {};  // Azure's fault code for failures, if any
  ProbeSet needs;              // required sections
  ProbeSet looks_at = {};      // sections it uses if they were observed
  NvmlParts nvml_parts = {};   // GPU facts that are read only on request
  WhenAbsent when_absent = WhenAbsent::unknown;
  // Optional: whether the profile has a limit for this check. Without one the check is a skip, with
  // `unlimited` as its message, even if sections are missing.
  bool (*is_limited)(const Profile&) = nullptr;
  std::string_view unlimited = {};
  // Optional: returns why the check does not apply. Called before missing sections make the check
  // `unknown`, so it must check that a section was observed.
  std::optional<Finding> (*not_applicable)(const Snapshot&, const Profile&) = nullptr;
  // Returns at least one finding, passes included. The runner fills in `check`, and `code` for a
  // failure without one.
  Findings (*judge)(const Snapshot&, const Profile&) = nullptr;
  // Instead of `judge`, for rules that depend on the context.
  Findings (*judge_in)(const Snapshot&, const Profile&, const Context&) = nullptr;
  // Optional: adds every number that the check compares with a limit. Called only if the check
  // judged the node.
  void (*margins)(const Snapshot&, const Profile&, Margins&) = nullptr;
};

}  // namespace muster
