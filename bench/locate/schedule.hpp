// SPDX-License-Identifier: Apache-2.0
// Which nodes are paired in which round. No node is twice in a round.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "bench/locate/measurer.hpp"

namespace muster::bench::locate {

using Pair = std::pair<Node, Node>;

// Every node of each zone once, but for the last of an odd number. The two of a pair hang from
// different leaf switches wherever that is possible; without a topology they are far apart in the
// list, which mostly comes to the same.
[[nodiscard]] std::vector<Pair> pairs_across(const Nodes& nodes);

// All pairs, each once, by the circle method: n - 1 rounds, n of them where n is odd.
[[nodiscard]] std::size_t tournament_rounds(std::size_t nodes);
[[nodiscard]] std::vector<Pair> tournament_round(std::size_t nodes, std::size_t round);

// One of `partners` of the same zone that is none of `met`, of another leaf switch where there is
// such a one; else their end.
[[nodiscard]] std::vector<Node>::iterator partner_of(Node node, std::vector<Node>& partners,
                                                     const std::vector<Node>& met,
                                                     const Nodes& nodes);

// A partner for each of `seekers`, each from `partners` and none twice; of another leaf switch
// where there is one, and none whom `met_by` tells. Takes those out of `partners` that it uses; who
// finds none is left out.
[[nodiscard]] std::vector<Pair> pair_with(
    const std::vector<Node>& seekers, std::vector<Node>& partners, const Nodes& nodes,
    const std::function<std::vector<Node>(Node)>& met_by = [](Node) {
      return std::vector<Node>();
    });

// Pairs of proven nodes that a later round compares with, taken out of `proven`.
[[nodiscard]] std::vector<Pair> take_controls(std::vector<Node>& proven, std::size_t most,
                                              const Nodes& nodes);

[[nodiscard]] std::vector<Group> groups_of(const std::vector<Pair>& pairs);
// Each device of these pairs by itself: pair after pair.
[[nodiscard]] std::vector<Group> device_groups_of(const std::vector<Pair>& pairs, int devices);

}  // namespace muster::bench::locate
