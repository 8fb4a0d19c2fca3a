// SPDX-License-Identifier: Apache-2.0
// The result of a search as findings and figures of a report, as files, and as a map on a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/locate/locate.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/report.hpp"

namespace muster::bench::locate {

inline constexpr std::string_view kLocateCheck = "bench.locate";

// Returns one finding for each culprit, or a pass for the job. The device is a slow node or leaf
// switch, or "a-b" for a link.
[[nodiscard]] std::vector<Finding> findings_of(const SearchResult& result);

// The slow nodes whose findings fail, in the order of the culprits; not the nodes of a link or a
// switch, nor those whose processes have ended.
[[nodiscard]] std::vector<std::string> accused_of(const SearchResult& result);

// The nodes that a job should avoid: those of culprits whose findings fail.
[[nodiscard]] std::vector<std::string> excluded(const SearchResult& result);

// The rate of the other nodes together; nothing if it was not measured.
[[nodiscard]] std::optional<Finding> together_finding(const SearchResult& result);

// The lowest rate of each pair. Nothing without a scale.
[[nodiscard]] std::optional<Matrix> matrix_of(const SearchResult& result);

// Why a job over all nodes does not reach what its HCAs could carry: the slowest part sets its
// rate, and each culprit hides what the next one would allow. Nothing if a pair does not finish.
[[nodiscard]] std::optional<Breakdown> breakdown_of(const SearchResult& result,
                                                    const Profile& profile);

// {"schema": "muster.pairs/1", "unit": "GB/s", "nodes": [...], "pairs": [{"a", "b", "gbps"}]}, in
// the order of time. The rate of a pair that did not finish is null.
[[nodiscard]] std::string pairs_json(const SearchResult& result);

// Returns the same as lines "a,b,gbps".
[[nodiscard]] std::string pairs_csv(const SearchResult& result);

// A character for each pair, by its lowest rate. Empty for more nodes than fit.
[[nodiscard]] std::string heat_map(const SearchResult& result);

}  // namespace muster::bench::locate
