// SPDX-License-Identifier: Apache-2.0
// The definition of a collective: its name, what each rank sends and receives, how its bandwidth is
// computed, and what each back end calls. definition.cpp has one of these for each collective.
#pragma once

#include <cstdint>
#include <string_view>

#include "bench/collectives/operation.hpp"

namespace muster::bench {

// A rank of a collective.
struct Participant {
  int rank = 0;
  int ranks = 1;
  int root = 0;

  [[nodiscard]] bool is_root() const { return rank == root; }

  [[nodiscard]] int next() const { return (rank + 1) % ranks; }

  [[nodiscard]] int previous() const { return (rank + ranks - 1) % ranks; }

  // In pairs, the ranks of the first half begin. The partner has the same index in the other half.
  [[nodiscard]] bool begins() const { return rank < ranks / 2; }

  [[nodiscard]] int partner() const { return begins() ? rank + ranks / 2 : rank - ranks / 2; }
};

// The contents of a receive buffer after a collective.
struct Received {
  enum class What {
    reduction,   // of the inputs of all ranks
    one_rank,    // the input of rank `from`
    every_rank,  // a part of each rank: see Parts
  };
  What what = What::reduction;
  bool own_part = false;  // the receiver's part of the input, not its beginning
  int (*from)(const Participant& self) = nullptr;  // of `one_rank`
};

[[nodiscard]] constexpr Stretch part_at(int part) {
  return {.first = static_cast<std::uint64_t>(part), .count = 1};
}

// The parts of the buffers that a rank sends to a peer and receives from it.
struct Parts {
  Stretch (*sent)(const Participant& self, int peer) = nullptr;
  Stretch (*received)(const Participant& self, int peer) = nullptr;
};

struct NcclUse {
  enum class By {
    nothing,
    function,  // one of NCCL's
    group,     // of sends and receives
    groups,    // that depend on each other
  };
  By by = By::nothing;
  std::string_view log_name = {};  // in NCCL's log; empty if NCCL logs no algorithm
};

struct MpiUse {
  std::string_view name;    // of MPI's function, for messages
  bool counts_all = false;  // a call counts the elements of all parts, not of one
  bool divisible = false;   // it may be split into several calls
  // In place, the received data are at the start of the buffer.
  bool received_first = false;
};

// The simulated cluster: its rates in bytes per second, and its size.
struct SimRates {
  double network = 0;  // of a node
  double hca = 0;      // of one rank to another node
  double nodes = 1;
  double gpus = 1;  // of a node
  bool tree = false;

  [[nodiscard]] double ranks() const { return nodes * gpus; }

  // Bus bandwidth of one node, of one rank, and of one rank in both directions.
  [[nodiscard]] double one_node() const { return network; }

  [[nodiscard]] double one_hca() const { return hca; }

  [[nodiscard]] double both_ways() const { return 2 * hca; }

  // Bus bandwidth around the ring of nodes, or along their tree.
  [[nodiscard]] double ring_or_tree() const {
    return tree ? network * (ranks() - 1) / (gpus * (nodes - 1)) : network;
  }

  // Bus bandwidth between all pairs of ranks.
  [[nodiscard]] double pairs() const { return network * (ranks() - 1) / (gpus * (ranks() - gpus)); }

  // Bus bandwidth between one rank and all others.
  [[nodiscard]] double one_rank() const { return hca * (ranks() - 1) / (ranks() - gpus); }
};

struct SimUse {
  double (SimRates::*bandwidth)() const = nullptr;  // between nodes, as bus bandwidth
  bool every_pair = false;  // all nodes communicate with each other, not only neighbours
  double passes = 1;        // of small messages through the tree
};

struct CollectiveDefinition {
  std::string_view name;
  bool in_parts = false;      // the size is that of all ranks' parts together
  bool unequal = false;       // the parts are those of shares_of()
  bool reduces = false;       // uses --redop
  bool has_root = false;      // uses --root
  bool one_buffer = false;    // on host memory, even out of place
  bool exchanges = false;     // in place, received data overwrite the sent data
  bool in_pairs = false;      // of ranks, whose number must be even; out of place only
  bool power_of_two = false;  // the number of ranks must be one
  bool out_of_place_only = false;
  bool no_data = false;                            // the only size is 0
  int (*messages)(std::uint64_t bytes) = nullptr;  // see messages_of(); null for 1
  // Changes the default of sending and receiving everything.
  void (*shape)(Shape& shape, const Participant& self) = nullptr;
  Received received;
  Parts parts;  // of those that exchange parts
  double (*bus_factor)(double ranks) = [](double /*ranks*/) { return 1.0; };  // of two or more
  NcclUse nccl;
  MpiUse mpi;
  SimUse sim;
};

[[nodiscard]] const CollectiveDefinition& definition_of(Collective collective);

// The most messages of a window.
inline constexpr int kWindow = 64;

// A round of hypercube: the rank to exchange with, and the received and sent parts.
struct CubeStep {
  int peer = 0;
  Stretch there, here;
};

[[nodiscard]] CubeStep cube_step(int rank, int round);

}  // namespace muster::bench
