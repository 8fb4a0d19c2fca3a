// SPDX-License-Identifier: Apache-2.0
// What a collective is: its name, what each rank puts in and gets, how its bandwidth is counted,
// and what each back end calls for it. Each has a file of its own, which defines one of these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "bench/collectives/host_algorithms.hpp"
#include "bench/collectives/operation.hpp"
#include "bench/collectives/shares.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// One rank of a collective, and its root.
struct Participant {
  int rank = 0;
  int ranks = 1;
  int root = 0;

  [[nodiscard]] bool is_root() const { return rank == root; }

  [[nodiscard]] int next() const { return (rank + 1) % ranks; }

  [[nodiscard]] int previous() const { return (rank + ranks - 1) % ranks; }

  // In pairs, each rank of the first half begins; its partner has the same place in the other half.
  [[nodiscard]] bool begins() const { return rank < ranks / 2; }

  [[nodiscard]] int partner() const { return begins() ? rank + ranks / 2 : rank - ranks / 2; }
};

// What is in a receive buffer after a collective.
struct Received {
  enum class What {
    reduction,   // of what all ranks put in
    one_rank,    // what the rank `from` put in
    every_rank,  // the part of each rank, in their order
  };
  What what = What::reduction;
  bool own_part = false;  // the receiver's part of what was put in; else its beginning
  int (*from)(const Participant& self) = nullptr;  // of `one_rank`
};

[[nodiscard]] constexpr Stretch part_at(int part) {
  return {.first = static_cast<std::uint64_t>(part), .count = 1};
}

// The functions of NCCL, with the operation's buffers. They return NCCL's result codes.
class NcclCalls : public Participant {
 public:
  explicit NcclCalls(const Participant& self) : Participant(self) {}

  [[nodiscard]] virtual int all_reduce() = 0;
  [[nodiscard]] virtual int all_gather() = 0;
  [[nodiscard]] virtual int reduce_scatter() = 0;
  [[nodiscard]] virtual int broadcast() = 0;
  [[nodiscard]] virtual int reduce() = 0;
  // Send and receive parts of the buffers. An error is the result of the whole group.
  virtual void send(int peer, Stretch parts) = 0;
  virtual void receive(int peer, Stretch parts) = 0;
  // Sends these parts of the receive buffer, which came in a round before.
  virtual void send_on(int peer, Stretch parts) = 0;

  [[nodiscard]] virtual bool in_place() const = 0;

  int round = 0;  // the number of the group, where there are several

 protected:
  ~NcclCalls() = default;
};

struct NcclUse {
  int (*call)(NcclCalls& nccl) = nullptr;    // one function of NCCL; or
  void (*sends)(NcclCalls& nccl) = nullptr;  // sends and receives, which are one group
  int (*rounds)(int ranks) = nullptr;        // or so many groups, one after the other
  bool in_place = true;
  std::string_view log_name = {};  // in NCCL's log; empty where it has no algorithms for it

  [[nodiscard]] bool is_there() const { return call != nullptr || sends != nullptr; }
};

struct MpiUse {
  std::string_view name;    // of MPI's function, for messages
  bool counts_all = false;  // a call may count the elements of all parts, and not of one alone
  bool divisible = false;   // it may be done in several calls, one after the other
  // In place, what a rank receives lies where the one buffer begins.
  bool received_first = false;
};

// What the model of a cluster has: its rates in bytes per second, and its size.
struct SimRates {
  double network = 0;  // all that a node sends to others
  double hca = 0;      // what one rank sends to another node
  double nodes = 1;
  double gpus = 1;  // of a node
  bool tree = false;

  [[nodiscard]] double ranks() const { return nodes * gpus; }

  // The bus bandwidth of what goes around the ring of nodes, or up and down their tree.
  [[nodiscard]] double ring_or_tree() const {
    return tree ? network * (ranks() - 1) / (gpus * (nodes - 1)) : network;
  }

  // And of what goes from every rank to every other.
  [[nodiscard]] double pairs() const { return network * (ranks() - 1) / (gpus * (ranks() - gpus)); }

  // And of what all ranks send to one, or one to all of them.
  [[nodiscard]] double one_rank() const { return hca * (ranks() - 1) / (ranks() - gpus); }
};

struct SimUse {
  double (*bandwidth)(const SimRates& rates) = nullptr;  // between nodes, as bus bandwidth
  bool every_pair = false;  // every two nodes talk to each other, not only neighbours
  double passes = 1;        // through the tree that small messages take
};

struct CollectiveDefinition {
  std::string_view name;
  bool in_parts = false;      // the size asked for is that of all ranks' parts together
  bool unequal = false;       // these parts are those of shares.hpp
  bool reduces = false;       // --redop counts
  bool has_root = false;      // --root counts
  bool one_buffer = false;    // on host memory out of place, too
  bool exchanges = false;     // in place, what a rank has sent is overwritten by what it receives
  bool in_pairs = false;      // of ranks, whose number must be even; out of place alone
  bool power_of_two = false;  // the number of ranks must be one
  bool out_of_place_alone = false;                 // nobody can do it in place
  bool no_data = false;                            // nothing moves, and there is one size: 0
  int (*messages)(std::uint64_t bytes) = nullptr;  // see messages_of(); null for 1
  // What differs from sending and receiving everything; null for nothing.
  void (*shape)(Shape& shape, const Participant& self) = nullptr;
  Received received;
  double (*bus_factor)(double ranks) = nullptr;  // for two ranks or more
  NcclUse nccl;
  MpiUse mpi;
  Result<void> (*tcp)(HostAlgorithms& peers, const HostJob& job) = nullptr;
  SimUse sim;
};

[[nodiscard]] const CollectiveDefinition& definition_of(Collective collective);

// Bus factors that several have.
[[nodiscard]] constexpr double factor_of_parts(double ranks) { return (ranks - 1) / ranks; }

[[nodiscard]] constexpr double factor_of_one(double /*ranks*/) { return 1; }

// The messages of a window: as many as OSU's, fewer of long ones.
inline constexpr int kWindow = 64;

[[nodiscard]] constexpr int window_of(std::uint64_t bytes) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{64} << 20U;
  constexpr std::uint64_t kLeast = 4;
  return static_cast<int>(
      std::clamp<std::uint64_t>(kAtOnce / std::max<std::uint64_t>(bytes, 1), kLeast, kWindow));
}

// What is received in an operation between pairs of ranks.
inline constexpr Received kFromPartner{
    .what = Received::What::one_rank,
    .from = [](const Participant& self) { return self.partner(); }};

[[nodiscard]] inline Participant participant_of(const HostAlgorithms& peers) {
  return {.rank = peers.rank(), .ranks = peers.ranks()};
}

// A round of hypercube: the rank to exchange with, the parts that come, and those that go.
struct CubeStep {
  int peer = 0;
  Stretch there, here;
};

[[nodiscard]] CubeStep cube_step(int rank, int round);

namespace collectives {

#define MUSTER_COLLECTIVE(name) extern const CollectiveDefinition name;
MUSTER_COLLECTIVES(MUSTER_COLLECTIVE)
#undef MUSTER_COLLECTIVE

}  // namespace collectives
}  // namespace muster::bench
