// SPDX-License-Identifier: Apache-2.0
// What a search found, as findings of a report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/locate/culprit.hpp"
#include "lib/report/finding.hpp"

namespace muster::bench::locate {

inline constexpr std::string_view kLocateCheck = "bench.locate";

// One for each culprit, or one pass of the job. Of a slow node the device is the node's name, of a
// link "a-b", of a leaf switch its name; congestion is a warning, and what cannot be told is
// unknown.
[[nodiscard]] std::vector<Finding> findings_of(const Search& search,
                                               const Nodes& nodes,
                                               const Rule& rule);

// Who a culprit is: "gpu-0017: HCA 3", "the path gpu-0003-gpu-0009", "leaf switch leaf4".
[[nodiscard]] std::string name_of(const Culprit& culprit, const Nodes& nodes);

// The nodes that findings accuse, in the order of `nodes`. Of a link neither is.
[[nodiscard]] std::vector<std::string> accused_of(const Search& search, const Nodes& nodes);

// The nodes of a slow leaf switch are not accused; a job is better off without them all the same.
[[nodiscard]] std::vector<std::string> excluded_of(const Search& search, const Nodes& nodes);

}  // namespace muster::bench::locate
