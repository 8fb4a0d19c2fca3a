// SPDX-License-Identifier: Apache-2.0
// What a search found: who is slow, what shows it, and what it is not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/locate/measurer.hpp"
#include "bench/locate/rounds.hpp"
#include "bench/locate/rule.hpp"
#include "bench/locate/schedule.hpp"

namespace muster::bench::locate {

// The part of a slow node that is slow.
enum class Part {
  untold,   // no measurement tells
  hca,      // one HCA
  gpu,      // one GPU
  inside,   // the links between its GPUs
  network,  // several or all of its HCAs, or what they share
};

struct Culprit {
  enum class Kind {
    node,             // slow with every partner
    link,             // these two with one another, and with nobody else
    leaf,             // the nodes of one leaf switch, by what they share
    level,            // all that crosses the switches of one level
    rail,             // the same device of most nodes
    group,            // these nodes together, and no smaller part of them
    congestion,       // what was slow only while all nodes worked
    everyone,         // no outlier, and less than is expected
    not_enough_data,  // nothing can be said; `evidence` says why
  };
  Kind kind = Kind::not_enough_data;
  std::vector<Node> nodes{};
  Part part = Part::untold;
  std::vector<int> devices{};  // of a node: those that are slow, where it is not all of them
  int leaf = kNoLeaf;          // of a switch that nobody named, too
  std::size_t together = 2;    // the fewest nodes in whose all-reduce it shows
  bool hung = false;           // it did not finish
  std::string loss{};      // of a node whose processes have ended: how; says nothing of its parts
  bool of_device = false;  // what follows are rates of one device, not of all of a node
  double gbps = 0;         // the best that was measured
  double share = 0;        // of what the healthy reach
  double probability = 0;
  std::vector<std::string> evidence{};
  std::vector<std::string> ruled_out{};
};

// What two nodes reached together; empty where they did not finish.
struct PairRate {
  Pair pair;
  std::optional<double> gbps;
};

// What those nodes reach in one all-reduce that a next job has; empty where it did not finish.
struct Together {
  std::vector<Node> nodes;
  std::optional<double> gbps;
};

struct Search {
  std::vector<Culprit> culprits;
  std::vector<PairRate> pairs;  // all that were measured, in the order of time
  std::optional<Scale> scale;   // of healthy pairs; of their devices where `pairs` is empty
  std::optional<Together> together;
  int rounds = 0;
  std::uint64_t operations = 0;

  // Adds the pairs of a round.
  void keep(const Round& round);
};

// What one pair of nodes reached, and what its equals did.
struct Meeting {
  Node partner = 0;
  std::optional<double> gbps;
  Scale scale;
};

struct Suspect {
  Node node = 0;
  std::vector<Meeting> meetings{};
};

struct SlowPair {
  Pair pair;
  std::optional<double> gbps;
  Scale scale;
};

// What is left to be explained once pairs have been measured.
struct Suspicion {
  std::vector<Suspect> slow;    // with every partner
  std::vector<SlowPair> pairs;  // both of them fine with others
  std::vector<Node> proven;     // fine
  Scale scale;
  bool of_device = false;      // all rates are of one device, not of all of a node
  std::vector<int> devices{};  // that are slow on most nodes, which is no node's fault
};

}  // namespace muster::bench::locate
