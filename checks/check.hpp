// SPDX-License-Identifier: Apache-2.0
// A check is a pure function from facts about one node to findings. It opens no file, reads no
// clock and no environment, so a test calls it with a Snapshot written out by hand, and any node
// can be judged again later, elsewhere, against another profile.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/finding.hpp"

namespace muster {

using Findings = std::vector<Finding>;

// What the runner says when a section that a check needs is absent. Sections that timed out or
// failed always make the check `unknown`, with the section's reason.
enum class WhenAbsent {
  unknown,  // this kind of node should tell
  skip,     // it cannot be told here (no such interface below a foreign root)
  judge,    // the check itself knows what absence means (no RDMA stack: no HCA)
};

struct Check {
  std::string_view id;     // "<group>.<name>": the check in checks/<group>/<name>.cpp; a promise
  std::string_view title;  // one line
  std::string_view why;    // a paragraph for `muster explain`: what it looks at, why it matters
  std::string_view fix;    // what an admin does about it
  std::string_view code = {};  // Azure's fault code for its failures; empty where Azure has none
  ProbeSet needs;              // the sections without which it cannot judge
  ProbeSet looks_at = {};      // those it also reads: observed for it, and never in its way
  NvmlParts asks = {};         // facts of GPUs that are read only where a check asks for them
  WhenAbsent when_absent = WhenAbsent::unknown;
  // Why the check does not apply here, if so; `judge` is not asked then. It comes before a missing
  // section makes the check `unknown`, so it goes by the profile and by sections that were
  // observed. Optional.
  std::optional<Finding> (*not_here)(const Snapshot&, const Profile&) = nullptr;
  // Returns at least one finding, a pass included: a check that looked at nothing must say so.
  // The runner fills in `check`, and for a failure the `code` above where it has none of its own.
  Findings (*judge)(const Snapshot&, const Profile&) = nullptr;
  // In place of `judge`, for a rule that means something else beside a running job than after it.
  Findings (*judge_in)(const Snapshot&, const Profile&, const Context&) = nullptr;
};

}  // namespace muster
