// SPDX-License-Identifier: Apache-2.0
// The hardware and the faults of a simulated cluster, as --sim describes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster::bench {

struct SimFault {
  enum class Kind {
    slow_node,     // node, factor: all its HCAs and links
    slow_hca,      // node, HCA, factor: the other HCAs of a collective wait for it
    slow_gpu,      // node, GPU, factor: its links, and its traffic to other nodes
    slow_link,     // node, node, factor: what they send each other
    slow_large,    // node, count, factor: the node in groups of at least this many nodes
    slow_rail,     // HCA, factor: this HCA of every node
    slow_leaf,     // leaf switch, factor: traffic that leaves it
    slow_level,    // 1 or 2, factor: traffic across leaf switches, or the switches above them
    congestion,    // leaf switch, factor: traffic that leaves it while most nodes work
    tcp_fallback,  // all traffic between nodes uses TCP
    ib_fallback,   // even traffic inside an NVLink domain uses the HCAs
    wrong,         // rank, element: this element of its receive buffer is wrong
    hang,          // rank, operation: it does not start this operation, counted from 0
    hang_node,     // node: no operation with it ends
    hang_link,     // node, node: no operation with both ends
  };
  Kind kind = Kind::tcp_fallback;
  std::uint64_t first = 0, second = 0;  // in the order of the comments above
  double factor = 1;                    // of the healthy rate

  bool operator==(const SimFault&) const = default;
};

// The defaults are ND A100 v4: 8 HCAs of 200 Gb/s make 187 GB/s of bus bandwidth, and 12 NVLinks of
// 25 GB/s make 232.
struct SimCluster {
  int nodes = 2;
  int gpus = 8;              // of a node; a rank each
  bool on_host = false;      // the nodes have no GPUs: one rank each, which counts as a GPU
  int hcas = 8;              // of a node; without any, nodes use TCP
  int nodes_per_domain = 1;  // nodes of a rack, whose GPUs share one NVLink domain
  int nodes_per_leaf = 16;   // leaf switch
  int leaves_per_pod = 16;   // below the same switches of the second level
  BitsPerSecond hca_rate{200e9};
  BytesPerSecond link_rate{300e9};  // of one GPU inside a node, each way
  double efficiency = 0.9375;       // share of the HCAs' rate that collectives reach
  double link_efficiency = 0.775;
  // The same of an all-reduce inside a node by NVLink SHARP, whose switches add; 0 without it.
  double nvls_efficiency = 0;

  // The share of its links that an all-reduce inside a node reaches.
  [[nodiscard]] double inside_efficiency() const {
    return nvls_efficiency > 0 ? nvls_efficiency : link_efficiency;
  }

  Seconds latency{12e-6};         // between nodes; a quarter of it inside a node
  BytesPerSecond tcp_rate{10e9};  // of one node
  bool tree = false;              // the algorithm: a hierarchical tree, else a ring
  // Standard deviations: of one measurement, of the connections of one run, and of all rates from
  // one run to the next.
  Percent noise{0}, run_noise{0}, drift{0};
  std::uint64_t seed = 1;
  std::vector<SimFault> faults{};

  bool operator==(const SimCluster&) const = default;
};

[[nodiscard]] int ranks_of(const SimCluster& cluster);
[[nodiscard]] bool uses_tcp(const SimCluster& cluster);
// Whether these nodes are in one NVLink domain, and whether their traffic uses it.
[[nodiscard]] bool share_domain(const SimCluster& cluster, std::size_t node, std::size_t other);
[[nodiscard]] bool use_nvlink(const SimCluster& cluster, std::size_t node, std::size_t other);

// The names of the nodes: sim0, sim1, ...
[[nodiscard]] std::string sim_node_name(std::size_t node);

// Two nodes of the hardware that the profile describes.
[[nodiscard]] SimCluster sim_cluster_of(const Profile& profile);

// The words of --sim, for --help.
inline constexpr std::string_view kSimHelp =
    "the cluster that --backend sim simulates; its words: profile=NAME (default: the profile that "
    "judges), nodes=N, gpus=N, hcas=NxRATE, domain=NODES, leaf=NODES, pod=LEAVES, link=RATE, "
    "rate=RATE (of "
    "healthy nodes), inside=RATE (the same of one node), latency=TIME, efficiency=SHARE, "
    "link_efficiency=SHARE, tcp=RATE, algorithm=ring|tree, noise=PERCENT, run_noise=PERCENT, "
    "drift=PERCENT, seed=N, and any number of fault=FAULT: slow_node:NODE:FACTOR, "
    "slow_hca:NODE:HCA:FACTOR, slow_gpu:NODE:GPU:FACTOR, slow_link:NODE:NODE:FACTOR, "
    "slow_large:NODE:COUNT:FACTOR, slow_rail:HCA:FACTOR, slow_leaf:LEAF:FACTOR, "
    "slow_level:LEVEL:FACTOR, congestion:LEAF:FACTOR, tcp_fallback, ib_fallback, "
    "wrong:RANK:ELEMENT, hang:NODE, "
    "hang:RANK:OPERATION, hang_link:NODE:NODE";

// Whether `fault=NAME:...` is a word of --sim.
[[nodiscard]] bool is_sim_fault(std::string_view name);

// Parses "nodes=2,gpus=8,hcas=8x200Gb/s,latency=12us,fault=slow_hca:1:3:0.5"; the rest is as in
// `defaults`. The word `profile=` is ignored: see profile_of_sim().
[[nodiscard]] Result<SimCluster> parse_sim(std::string_view text, const SimCluster& defaults = {});

// Checks the words and their values, but not whether faults are about parts that the cluster has,
// which may depend on a profile.
[[nodiscard]] Result<void> check_sim(std::string_view text);

// The value of `profile=`, whose hardware is simulated; empty without it.
[[nodiscard]] std::string profile_of_sim(std::string_view text);

}  // namespace muster::bench
