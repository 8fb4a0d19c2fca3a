// SPDX-License-Identifier: Apache-2.0
// What a search measured: as pictures of its report, as tables for programs, and for the eye.
#pragma once

#include <optional>
#include <string>

#include "bench/locate/culprit.hpp"
#include "bench/locate/rule.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/figures.hpp"

namespace muster::bench::locate {

// What each pair reached, the lowest where it was measured more than once. Nothing where no scale
// is known.
[[nodiscard]] std::optional<Matrix> matrix_of(const Search& search, const Nodes& nodes);

// Why a job over all nodes does not reach what its HCAs could carry: what it reaches is what its
// slowest part does, and each culprit takes away what the next one would leave. Nothing where
// nothing was measured, or where some pair does not finish.
[[nodiscard]] std::optional<Breakdown> breakdown_of(const Search& search, const Nodes& nodes,
                                                    const Rule& rule, const Profile& profile);

// {"schema": "muster.pairs/1", "unit": "GB/s", "nodes": [...], "pairs": [{"a", "b", "gbps"}]}: in
// the order of time; gbps is null where a pair did not finish.
[[nodiscard]] std::string pairs_json(const Search& search, const Nodes& nodes);

// A line for each pair: a,b,gbps; the last is empty where it did not finish.
[[nodiscard]] std::string pairs_csv(const Search& search, const Nodes& nodes);

// A square for each two nodes, darker where they were slower: the lowest rate of each. Of more
// nodes than fit there is none.
[[nodiscard]] std::string heat_map(const Search& search, const Nodes& nodes);

}  // namespace muster::bench::locate
