// SPDX-License-Identifier: Apache-2.0
// Which nodes are paired in which round. No node is in two pairs of a round.
#pragma once

#include <cstddef>
#include <iterator>
#include <vector>

#include "bench/locate/measurer.hpp"

namespace muster::bench::locate {

// Every node of each zone once, except the last of an odd number. Pairs cross leaf switches where
// possible. Without a topology the two nodes are half the list apart.
[[nodiscard]] std::vector<Pair> pairs_across(const Nodes& nodes);

// All pairs by the circle method: n - 1 rounds, or n if n is odd.
[[nodiscard]] std::size_t tournament_rounds(std::size_t nodes);
[[nodiscard]] std::vector<Pair> tournament_round(std::size_t nodes, std::size_t round);

// A node of `partners` in the same zone that is not in `met`, if possible of another leaf switch;
// the end if there is none.
[[nodiscard]] std::vector<Node>::iterator partner_of(Node node, std::vector<Node>& partners,
                                                     const std::vector<Node>& met,
                                                     const Nodes& nodes);

// Takes a partner out of `partners` for each seeker. Seekers without one are left out. `met`,
// unless it is empty, has the nodes that each seeker has met.
[[nodiscard]] std::vector<Pair> pair_with(const std::vector<Node>& seekers,
                                          std::vector<Node>& partners, const Nodes& nodes,
                                          const std::vector<std::vector<Node>>& met = {});

// Takes at most `most` pairs of proven nodes out of `proven`, to compare with.
[[nodiscard]] std::vector<Pair> take_controls(std::vector<Node>& proven, std::size_t most,
                                              const Nodes& nodes);

[[nodiscard]] std::vector<NodeGroup> groups_of(const std::vector<Pair>& pairs);
// Each device of the first pair by itself, then those of the next one.
[[nodiscard]] std::vector<NodeGroup> device_groups_of(const std::vector<Pair>& pairs, int devices);

// Appends the elements of `more`.
template <class T>
void append(std::vector<T>& all, std::vector<T> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace muster::bench::locate
