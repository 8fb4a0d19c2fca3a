// SPDX-License-Identifier: Apache-2.0
// Groups findings with one cause over many devices or checks.
#pragma once

#include <string_view>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/report/report.hpp"

namespace muster {

// The start of a message about facts that could not be observed.
inline constexpr std::string_view kNotJudged = "not judged, ";

// The groups among `findings`, in their order: the same finding about at least three devices of one
// kind, or all of them; the same about the mounts of one server; and all checks that could not
// judge because probes failed. The message names what only these devices share.
[[nodiscard]] std::vector<FindingGroup> fold(const std::vector<Finding>& findings,
                                             const Snapshot& snapshot);

// The message of a finding without the device's name, serial number and other numbers.
[[nodiscard]] std::string form_of(const Finding& finding);

}  // namespace muster
