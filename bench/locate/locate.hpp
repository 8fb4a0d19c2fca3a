// SPDX-License-Identifier: Apache-2.0
// The search for slow parts, its steps and its result: the culprits, the evidence, and the parts
// that were ruled out. Neither a single measurement nor a slow partner is enough to accuse a node.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    everyone,         // even the healthy pairs are slower than expected
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
  double share = 0;            // as a share of the healthy rate
  // The rate of a job with this culprit and without the others, if that was measured.
  std::optional<double> job_gbps{};
  double probability = 0;
  std::vector<std::string> evidence{};
  std::vector<std::string> ruled_out{};

  // A conclusion about all nodes, or none.
  [[nodiscard]] bool is_general() const {
    return kind == Kind::congestion || kind == Kind::everyone || kind == Kind::not_enough_data;
  }
};

// Nothing can be decided, about these nodes or about all.
[[nodiscard]] inline Culprit not_enough_data(std::string why, std::vector<Node> nodes = {}) {
  return {.nodes = std::move(nodes), .evidence = {std::move(why)}};
}

// The lowest rates of healthy nodes: of a pair, and of a job on all nodes of the search.
struct Limits {
  Floor pair{}, job{};
};

// The rate of two nodes; empty if they did not finish.
struct PairRate {
  Pair pair;
  std::optional<double> gbps;
};

// Whether pairs were measured and none of them finished.
[[nodiscard]] bool none_finished(std::span<const PairRate> pairs);

// The rate of these nodes in one all-reduce; empty if it did not finish.
struct Together {
  std::vector<Node> nodes;
  std::optional<double> gbps;
  std::string algorithm{};  // that the library used, as profiles name it; empty if unknown
};

struct SearchResult {
  Nodes nodes{};
  Limits limits{};
  std::vector<Culprit> culprits{};  // the one that costs the job most first
  std::vector<PairRate> pairs{};    // all measured pairs, in order of time
  std::optional<Scale> scale{};     // of healthy pairs, or of devices if no pair was measured
  std::optional<Together> together{};
  int rounds = 0;
  std::uint64_t operations = 0;

  void keep_pairs(const Round& round);

  [[nodiscard]] std::optional<double> together_gbps() const {
    return together ? together->gbps : std::nullopt;
  }
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
  // Slow on most nodes, which is not the fault of a node. If there are any, the rates are those of
  // one device.
  std::vector<int> devices{};
};

struct SwitchVerdict {
  std::vector<Culprit> culprits;  // slow leaf switches, a slow level, or congestion
  // The zone of each node if there is a slow switch: paths between nodes of one zone avoid it.
  std::vector<int> zones;
  std::vector<bool> cross;  // of each leaf switch: fine with others while no other node works
  std::vector<bool> below;  // of each node: fine with a node of its leaf switch
  double base = 0;          // the rate of pairs below a leaf switch; 0 if nothing was measured
};

// `pairs` were measured while all nodes worked. Unless `suspicious`, the first round ends it if
// they reach what pairs below leaf switches do.
[[nodiscard]] Result<SwitchVerdict> judge_switches(const Nodes& nodes, Rounds& rounds,
                                                   std::span<const PairRate> pairs,
                                                   bool suspicious);

// Whether a switch is a likelier culprit than the suspects: most nodes of a leaf switch are slow,
// or several pairs with a node of it.
[[nodiscard]] bool points_to_a_switch(const Suspicion& suspicion, const Nodes& nodes);

// Without a topology, finds groups of nodes that are fine among themselves and slow with the
// others, as if each group had its own leaf switch. Empty if there are none.
[[nodiscard]] Result<std::vector<std::vector<Node>>> groups_apart(const Suspicion& suspicion,
                                                                  Rounds& rounds,
                                                                  SearchResult& result);

enum class Strategy {
  automatic,   // tournament up to 16 nodes, else screen
  screen,      // disjoint pairs, then each suspect with a proven partner
  tournament,  // all pairs
  bisect,      // another name of screen
  rails,       // as automatic, and each device of disjoint pairs by itself
  fabric,      // the switches first, then as screen
};

struct SearchOptions {
  Strategy strategy = Strategy::automatic;
  Floor floor{};  // of pairs
  // Returns the lowest rate that all nodes together must reach with this algorithm; may be empty.
  std::function<Floor(std::string_view algorithm)> job_limit{};
  bool closely = false;  // for small losses, and of each device
  Rounds::Watch watch{};
};

// If the nodes together miss their limit for no known reason, looks again, closely.
[[nodiscard]] Result<SearchResult> locate(const Nodes& nodes, Measurer& measurer,
                                          const SearchOptions& options);

// The steps of a search. They measure the nodes of `result`.

[[nodiscard]] Result<Suspicion> screen(Rounds& rounds, SearchResult& result);
[[nodiscard]] Result<Suspicion> tournament(Rounds& rounds, SearchResult& result);

// Adds the devices that are slow on most nodes to the culprits; without any, suspects no node.
// `slow` are the nodes that are slow by pairs.
[[nodiscard]] Result<Suspicion> rails(Rounds& rounds, const std::vector<Suspect>& slow,
                                      SearchResult& result);

// Measures each device of a slow node with that of a proven partner, then each slow node alone, and
// slow pairs once more. What is fine then was congestion.
[[nodiscard]] Result<std::vector<Culprit>> explain(const Suspicion& suspicion, const Nodes& nodes,
                                                   Rounds& rounds);

// Measures together all nodes that no culprit excludes. If they reach less than their pairs do,
// bisects them, excludes the culprits that it finds, and starts over. Sets `together` and adds
// culprits. Then measures with one culprit at a time: the difference is its cost to the job.
[[nodiscard]] Result<void> measure_together(Rounds& rounds, SearchResult& result);

// Whether leaving these nodes out of a job also leaves out this culprit.
[[nodiscard]] bool is_left_out(const Culprit& culprit);

// Returns the nodes to leave out: slow nodes, all nodes of a slow leaf switch, and one of a slow
// link.
[[nodiscard]] std::vector<Node> left_out(const std::vector<Culprit>& culprits);

// The rate of a job with this culprit, measured or estimated; 0 if it does not finish.
[[nodiscard]] double job_rate(const Culprit& culprit, const SearchResult& result);

// Returns how much lower that is than the rate without it.
[[nodiscard]] double job_cost(const Culprit& culprit, const SearchResult& result);

// Whether a large group reaches much less than healthy pairs, or did not finish.
[[nodiscard]] bool falls_behind(const std::optional<double>& gbps, const Scale& of_pairs);

}  // namespace muster::bench::locate
