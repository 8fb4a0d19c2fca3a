// SPDX-License-Identifier: Apache-2.0
// A model of a cluster, for tests and for planning: how long a collective takes on hardware of
// these rates, with these faults. What is random follows from a seed, and nothing is measured.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/collectives/operation.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

struct SimFault {
  enum class Kind {
    slow_hca,      // node, index, factor: channels share HCAs equally and wait for the slowest
    slow_gpu,      // node, index, factor: its links
    slow_node,     // node, factor: its HCAs and links
    slow_link,     // node, other, factor: what these two nodes send each other
    tcp_fallback,  // all traffic between nodes goes over TCP
    wrong,         // rank, element: this element of its receive buffer is wrong
    hang,          // rank, operation: it does not come to this operation, counted from 0
  };
  Kind kind = Kind::tcp_fallback;
  std::uint64_t first = 0;   // node or rank
  std::uint64_t second = 0;  // index, other node, element or operation
  double factor = 1;         // of the healthy rate

  bool operator==(const SimFault&) const = default;
};

// The defaults are ND A100 v4's: 8 HCAs of 200 Gb/s make 187 GB/s of bus bandwidth, 12 NVLinks of
// 25 GB/s make 232.
struct SimCluster {
  int nodes = 2;
  int gpus = 8;  // of a node; a rank each
  int hcas = 8;  // of a node; without any, nodes talk over TCP
  BitsPerSecond hca_rate{200e9};
  BytesPerSecond link_rate{300e9};  // of one GPU inside a node, each way
  double efficiency = 0.9375;       // of the HCAs' rate that collectives reach
  double link_efficiency = 0.775;
  Seconds latency{12e-6};         // between nodes; a quarter of it inside
  BytesPerSecond tcp_rate{10e9};  // of one node
  bool tree = false;              // hierarchical, else a ring
  Percent noise{0};               // each iteration is this much faster or slower at most
  Percent run_noise{0};  // standard deviation between runs, each over connections of its own
  std::uint64_t seed = 1;
  std::vector<SimFault> faults;

  bool operator==(const SimCluster&) const = default;
};

[[nodiscard]] int ranks_of(const SimCluster& cluster);
[[nodiscard]] bool uses_tcp(const SimCluster& cluster);

// "nodes=2,gpus=8,hcas=8x200Gb/s,latency=12us,fault=slow_hca:1:3:0.5": what is not named is as in
// `defaults`. An error names the word, and what is known.
[[nodiscard]] Result<SimCluster> parse_sim(std::string_view text, SimCluster defaults = {});

// The cluster that these ranks of it are, in this order: whole nodes, a part of one node, or the
// same number of GPUs of several nodes, with the HCAs next to them. An error where they are none of
// that.
[[nodiscard]] Result<SimCluster> part_of(const SimCluster& cluster, const std::vector<int>& ranks);

// How long it takes without noise.
[[nodiscard]] double seconds_of(const SimCluster& cluster, const Operation& operation);

// The factor by which that takes longer or shorter over connections that were made for the `run`-th
// time.
[[nodiscard]] double run_factor(const SimCluster& cluster, std::uint64_t run);

// The factor by which iteration number `iteration` takes longer or shorter than without noise.
[[nodiscard]] double noise_factor(const SimCluster& cluster, std::uint64_t iteration);

// The model as a back end: one process is all ranks, and no time passes. Nodes are called sim0,
// sim1 … Its log says in NCCL's words which way data went. Where a rank hangs, a call returns only
// after abort().
[[nodiscard]] std::unique_ptr<Backend> make_sim_backend(SimCluster cluster);

}  // namespace muster::bench
