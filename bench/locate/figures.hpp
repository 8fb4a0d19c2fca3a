// SPDX-License-Identifier: Apache-2.0
// The measured pairs as figures of the report, as files, and as a map on a terminal.
#pragma once

#include <optional>
#include <string>

#include "bench/locate/culprit.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/report.hpp"

namespace muster::bench::locate {

// The lowest rate of each pair. Nothing without a scale.
[[nodiscard]] std::optional<Matrix> matrix_of(const SearchResult& result, const Nodes& nodes);

// Why a job over all nodes does not reach what its HCAs could carry: the slowest part sets its
// rate, and each culprit hides what the next one would allow. Nothing if a pair does not finish.
[[nodiscard]] std::optional<Breakdown> breakdown_of(const SearchResult& result, const Nodes& nodes,
                                                    const Floor& floor, const Profile& profile);

// {"schema": "muster.pairs/1", "unit": "GB/s", "nodes": [...], "pairs": [{"a", "b", "gbps"}]}, in
// the order of time. The rate of a pair that did not finish is null.
[[nodiscard]] std::string pairs_json(const SearchResult& result, const Nodes& nodes);

// The same as lines "a,b,gbps".
[[nodiscard]] std::string pairs_csv(const SearchResult& result, const Nodes& nodes);

// A character for each pair, by its lowest rate. Empty for more nodes than fit.
[[nodiscard]] std::string heat_map(const SearchResult& result, const Nodes& nodes);

}  // namespace muster::bench::locate
