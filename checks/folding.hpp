// SPDX-License-Identifier: Apache-2.0
// One cause over many devices, or over many checks, is read as one finding.
#pragma once

#include <string_view>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/report/report.hpp"

namespace muster {

// How the message of a check begins whose facts could not be observed.
inline constexpr std::string_view kNotJudged = "not judged, ";

// The groups among `findings`, in their order: the same said of three devices or more of one kind,
// or of all of them; the same of the mounts of one server; and all that could not be judged because
// probes could not observe. What the devices share, and no other of their kind, is in the message.
[[nodiscard]] std::vector<FindingGroup> fold(const std::vector<Finding>& findings,
                                             const Snapshot& snapshot);

// What a finding says, without what tells one device from the other: its name, its serial number,
// numbers.
[[nodiscard]] std::string form_of(const Finding& finding);

}  // namespace muster
