// SPDX-License-Identifier: Apache-2.0
// The rounds of a search: which groups of nodes are measured at once, how often, and with which
// partners. A round is repeated until its noise is small enough to distinguish a slow group from a
// healthy one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/locate/rule.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::locate {

using Node = std::size_t;  // index in the list of nodes
using Pair = std::pair<Node, Node>;

inline constexpr int kAllDevices = -1;
inline constexpr int kNoLeaf = -1;
inline constexpr int kNoDomain = -1;

// The nodes of a search, and the switches that they hang from.
struct Nodes {
  std::vector<std::string> names;
  int devices = 1;          // GPUs of a node, each with its HCA
  std::vector<int> leaves;  // leaf switch of each node, or kNoLeaf; empty if unknown
  std::vector<std::string> leaf_names;
  std::vector<int> pods;  // of each leaf switch, the switch above it; empty if unknown
  // Only nodes of one zone are measured together, since paths between zones are known to be slow.
  // Empty if there is only one.
  std::vector<int> zones{};
  // The NVLink domain of each node; empty if all are in the same one, or no two. Between domains
  // nodes use their HCAs, so that only pairs and groups that span domains are compared.
  std::vector<int> domains{};

  [[nodiscard]] std::size_t count() const { return names.size(); }

  [[nodiscard]] int leaf(Node node) const { return leaves.empty() ? kNoLeaf : leaves[node]; }

  [[nodiscard]] int pod(Node node) const {
    return pods.empty() || leaf(node) == kNoLeaf ? kNoLeaf
                                                 : pods[static_cast<std::size_t>(leaf(node))];
  }

  [[nodiscard]] int zone(Node node) const { return zones.empty() ? 0 : zones[node]; }

  // Whether these two may be measured as a pair.
  [[nodiscard]] bool may_meet(Node a, Node b) const {
    return zone(a) == zone(b) && (domains.empty() || domains[a] != domains[b]);
  }

  // Whether a group of these nodes takes the same kind of paths as pairs do.
  [[nodiscard]] bool are_comparable(const std::vector<Node>& group) const;

  [[nodiscard]] bool share_leaf(Node a, Node b) const {
    return leaf(a) != kNoLeaf && leaf(a) == leaf(b);
  }
};

[[nodiscard]] std::vector<std::string> names_of(const std::vector<Node>& which, const Nodes& nodes);

// Sets the switches of `nodes` from Slurm's topology.conf ("SwitchName=leaf0 Nodes=gpu-[01-16]"),
// or from plain lines "leaf0 gpu-[01-16]". Ignores other nodes; a node that no line names has no
// leaf switch. An error names `file` and the line.
[[nodiscard]] Result<void> set_topology(Nodes& nodes, std::string_view text, std::string_view file);

// Sets the NVLink domain of each node. No other node shares kNoDomain.
void set_domains(Nodes& nodes, std::vector<int> domains);

// Nodes that run one all-reduce; a single node runs it among its own GPUs.
struct NodeGroup {
  MUSTER_DESCRIBED(NodeGroup);
  MUSTER_REQUIRED(std::vector<Node>, nodes, "");
  MUSTER_REQUIRED(int, device,
                  "the only GPU of each node that takes part, with its HCA") = kAllDevices;
};

struct GroupRates {
  std::vector<double> gbps;  // bus bandwidth of each repeat
  bool finished = true;      // within the deadline; otherwise there are no numbers
};

class Measurer {
 public:
  Measurer() = default;
  Measurer(Measurer&&) = delete;
  virtual ~Measurer() = default;

  // Runs all groups at once, `repeats` times, and returns the rates of each. No two groups share a
  // device. An error ends the search; a group that does not finish is not an error.
  [[nodiscard]] virtual Result<std::vector<GroupRates>> measure(
      const std::vector<NodeGroup>& groups, int repeats) = 0;

  // The algorithm that the library uses among these nodes, as profiles name it ("ring"); empty if
  // unknown.
  [[nodiscard]] virtual Result<std::string> algorithm_among(const std::vector<Node>& /*nodes*/) {
    return std::string();
  }

  // How the processes of a node ended, as a sentence; empty while they run.
  [[nodiscard]] virtual std::string loss_of(Node /*node*/) const { return {}; }
};

struct Round {
  std::vector<NodeGroup> groups;
  std::vector<std::optional<double>> gbps;  // the median of each group; empty if it did not finish
  double noise = 0;                         // the deviation of such a median, as a share
  double tolerance = kTolerance;

  [[nodiscard]] std::size_t size() const { return groups.size(); }
};

// The medians of the groups that finished, from the group with index `from` on.
[[nodiscard]] std::vector<double> finished(const Round& round, std::size_t from = 0);

// The scale of the groups from index `from` on, with at least the deviation of `usual`; `usual` if
// they are too few.
[[nodiscard]] Scale scale_from(const Round& round, std::size_t from, const Scale& usual);

class Rounds {
 public:
  // Called before each round; may be empty.
  using Watch = std::function<void(const std::string& title, std::size_t groups)>;

  Rounds(Measurer& measurer, const Floor& floor, double tolerance, Watch watch)
      : measurer_(measurer), floor_(floor), tolerance_(tolerance), watch_(std::move(watch)) {}

  // Repeats the round as often as its noise requires, or `fixed` times.
  [[nodiscard]] Result<Round> measure(std::string_view title, std::vector<NodeGroup> groups,
                                      std::optional<int> fixed = {});

  // Measures one group of these nodes.
  [[nodiscard]] Result<std::optional<double>> measure_one(std::string_view title,
                                                          const std::vector<Node>& nodes);

  // Measures the groups in as few rounds as `most_nodes` nodes of each allow.
  [[nodiscard]] Result<Round> measure_in_turns(std::string_view title,
                                               std::vector<NodeGroup> groups,
                                               std::size_t most_nodes);

  // The rate of all these nodes together. Does not count as a round.
  [[nodiscard]] Result<std::optional<double>> measure_together(const std::vector<Node>& nodes);

  [[nodiscard]] Result<std::string> algorithm_among(const std::vector<Node>& nodes) {
    return measurer_.algorithm_among(nodes);
  }

  [[nodiscard]] const Floor& floor() const { return floor_; }
  [[nodiscard]] double tolerance() const { return tolerance_; }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

 private:
  [[nodiscard]] double usual_noise() const;
  [[nodiscard]] Result<void> repeat(const std::vector<NodeGroup>& groups, int repeats,
                                    std::vector<GroupRates>& rates);

  Measurer& measurer_;
  Floor floor_;
  double tolerance_;
  Watch watch_;
  // The noise of one repeat: the mean square over all rounds so far, weighted by their repeats,
  // because a round of few groups may look quieter than it is.
  double squares_ = 0, weight_ = 0;
  int count_ = 0;
  std::uint64_t operations_ = 0;
};

// Every node of each zone once, except the last of an odd number and those of an NVLink domain that
// find no partner outside it. Pairs cross leaf switches where possible. Without a topology the two
// nodes are half the list apart.
[[nodiscard]] std::vector<Pair> pairs_across(const Nodes& nodes);

// All pairs by the circle method: n - 1 rounds, or n if n is odd.
[[nodiscard]] std::size_t tournament_rounds(std::size_t nodes);
[[nodiscard]] std::vector<Pair> tournament_round(std::size_t nodes, std::size_t round);

// A node of `partners` that this one may meet and that is not in `met`, if possible of another leaf
// switch; the end if there is none.
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
// Lists each device of the first pair by itself, then those of the next pair.
[[nodiscard]] std::vector<NodeGroup> device_groups_of(const std::vector<Pair>& pairs, int devices);

// Appends the elements of `more`.
template <class T>
void append(std::vector<T>& all, std::vector<T> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace muster::bench::locate
