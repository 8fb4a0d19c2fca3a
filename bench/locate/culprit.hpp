// SPDX-License-Identifier: Apache-2.0
// The result of a search: what is slow, the evidence, and what was ruled out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/locate/measurer.hpp"
#include "bench/locate/rounds.hpp"
#include "bench/locate/rule.hpp"

namespace muster::bench::locate {

// The part of a slow node that is slow.
enum class SlowPart {
  unknown,
  hca,      // one HCA
  gpu,      // one GPU
  inside,   // the links between its GPUs
  network,  // several or all of its HCAs, or what they share
};

struct Culprit {
  enum class Kind {
    node,             // slow with every partner
    link,             // these two nodes are slow with each other alone
    leaf,             // a leaf switch, with its nodes
    level,            // all traffic that crosses one level of switches
    rail,             // the same device of most nodes
    group,            // these nodes together, and no smaller part of them
    congestion,       // slow only while all nodes worked
    everyone,         // there is no outlier, and all are slower than expected
    not_enough_data,  // nothing can be decided; `evidence` has the reason
  };
  Kind kind = Kind::not_enough_data;
  std::vector<Node> nodes{};
  SlowPart part = SlowPart::unknown;
  std::vector<int> devices{};  // the slow devices of a node, unless all of them are
  int leaf = kNoLeaf;          // also kNoLeaf for a switch without a name
  std::size_t together = 2;    // the smallest number of nodes that shows it
  bool hung = false;           // it did not finish
  std::string loss{};          // how the processes of a node ended; says nothing about its parts
  bool of_device = false;      // the rates are those of one device, not of a whole node
  double gbps = 0;             // the best measurement
  double share = 0;            // of what healthy ones reach
  double probability = 0;
  std::vector<std::string> evidence{};
  std::vector<std::string> ruled_out{};
};

// The rate of two nodes; empty if they did not finish.
struct PairRate {
  Pair pair;
  std::optional<double> gbps;
};

// The rate of these nodes in one all-reduce; empty if it did not finish.
struct Together {
  std::vector<Node> nodes;
  std::optional<double> gbps;
};

struct SearchResult {
  std::vector<Culprit> culprits{};
  std::vector<PairRate> pairs{};  // all measured pairs, in the order of time
  std::optional<Scale> scale{};   // of healthy pairs, or of devices if no pair was measured
  std::optional<Together> together{};
  int rounds = 0;
  std::uint64_t operations = 0;

  void keep_pairs(const Round& round);
};

// A rate that one node reached with a partner, and the scale of that round.
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

// Nodes and pairs that are slow in the measurements of pairs, still without a cause.
struct Suspicion {
  std::vector<Suspect> slow{};    // slow with every partner
  std::vector<SlowPair> pairs{};  // both nodes are fine with other partners
  std::vector<Node> proven{};     // fine
  Scale scale{};
  bool of_device = false;      // the rates are those of one device, not of a whole node
  std::vector<int> devices{};  // slow on most nodes, which is not the fault of a node
};

}  // namespace muster::bench::locate
