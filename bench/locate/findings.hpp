// SPDX-License-Identifier: Apache-2.0
// What a search found, as findings of a report.
#pragma once

#include <optional>
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
[[nodiscard]] std::vector<Finding> findings_of(const Search& search, const Nodes& nodes,
                                               const Rule& rule);

// Who a culprit is: "gpu-0017: HCA 3", "the path gpu-0003-gpu-0009", "leaf switch leaf4".
[[nodiscard]] std::string name_of(const Culprit& culprit, const Nodes& nodes);

[[nodiscard]] std::vector<std::string> names_of(const std::vector<Node>& which, const Nodes& nodes);

// The nodes that are accused, in the order of `nodes`: each slow node whose finding fails. Neither
// the nodes of a link or of a switch, nor those whose processes have ended.
[[nodiscard]] std::vector<std::string> accused_of(const Search& search, const Nodes& nodes,
                                                  const Rule& rule);

// The nodes to leave out: each slow node, all of a slow leaf switch, and one of the two of a link.
[[nodiscard]] std::vector<Node> left_out(const std::vector<Culprit>& culprits);

// The nodes that the next job is better off without: those to leave out for findings that fail.
[[nodiscard]] std::vector<Node> excluded(const Search& search, const Nodes& nodes,
                                         const Rule& rule);

// What all others reach together, as a finding of the job. Nothing where it was not measured.
[[nodiscard]] std::optional<Finding> together_finding(const Search& search, const Nodes& nodes,
                                                      const Rule& rule);

}  // namespace muster::bench::locate
