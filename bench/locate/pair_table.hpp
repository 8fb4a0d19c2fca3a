// SPDX-License-Identifier: Apache-2.0
// What pairs of nodes reached, for programs and for the eye.
#pragma once

#include <string>

#include "bench/locate/culprit.hpp"

namespace muster::bench::locate {

// {"schema": "muster.pairs/1", "unit": "GB/s", "nodes": [...], "pairs": [{"a", "b", "gbps"}]}: in
// the order of time; gbps is null where a pair did not finish.
[[nodiscard]] std::string pairs_json(const Search& search, const Nodes& nodes);

// A line for each pair: a,b,gbps; the last is empty where it did not finish.
[[nodiscard]] std::string pairs_csv(const Search& search, const Nodes& nodes);

// A square for each two nodes, darker where they were slower: the lowest rate of each. Of more
// nodes than fit there is none.
[[nodiscard]] std::string heat_map(const Search& search, const Nodes& nodes);

}  // namespace muster::bench::locate
