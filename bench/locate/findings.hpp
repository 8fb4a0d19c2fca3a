// SPDX-License-Identifier: Apache-2.0
// The result of a search as findings of a report.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/locate/culprit.hpp"
#include "lib/report/finding.hpp"

namespace muster::bench::locate {

inline constexpr std::string_view kLocateCheck = "bench.locate";

// One for each culprit, or a pass of the job. The device is the name of a slow node or leaf switch,
// or "a-b" for a link.
[[nodiscard]] std::vector<Finding> findings_of(const SearchResult& result, const Nodes& nodes,
                                               const Floor& floor);

// "gpu-0017: HCA 3", "the path gpu-0003-gpu-0009", "leaf switch leaf4".
[[nodiscard]] std::string name_of(const Culprit& culprit, const Nodes& nodes);

[[nodiscard]] std::vector<std::string> names_of(const std::vector<Node>& which, const Nodes& nodes);

// Each slow node whose finding fails; not the nodes of a link or a switch, nor those whose
// processes have ended.
[[nodiscard]] std::vector<std::string> accused_of(const SearchResult& result, const Nodes& nodes,
                                                  const Floor& floor);

// The nodes that a job should avoid: slow nodes, all of a slow leaf switch, and one of a slow link.
[[nodiscard]] std::vector<Node> left_out(const std::vector<Culprit>& culprits);

// The same for culprits whose findings fail.
[[nodiscard]] std::vector<Node> excluded(const SearchResult& result, const Nodes& nodes,
                                         const Floor& floor);

// The rate of the other nodes together; nothing if it was not measured.
[[nodiscard]] std::optional<Finding> together_finding(const SearchResult& result,
                                                      const Nodes& nodes, const Floor& floor);

}  // namespace muster::bench::locate
