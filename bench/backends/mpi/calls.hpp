// SPDX-License-Identifier: Apache-2.0
// An operation as calls of MPI. All decisions are made before the timed loop, which only calls
// run().
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <vector>

#include "bench/backends/host_memory.hpp"
#include "bench/collectives/definition.hpp"
#include "bench/collectives/operation.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::mpi {

// Made by plan_of().
struct CallPlan {
  // Runs the whole operation. Returns MPI's result code.
  [[nodiscard]] int run() const;

  const MpiUse* use = nullptr;
  int (CallPlan::*call)() const = nullptr;  // one of those below
  MPI_Comm communicator = MPI_COMM_NULL;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  bool in_place = false;
  bool send_in_place = false;  // the send buffer is MPI_IN_PLACE
  bool receive_in_place = false;
  std::uint64_t elements = 0;  // of `datatype`
  std::uint64_t part_bytes = 0;
  // The unequal parts of each rank, in units of `datatype`.
  std::vector<int> send_counts = {}, send_at = {}, receive_counts = {}, receive_at = {};
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  Participant self;
  int messages = 1;

  bool averages = false;       // run() divides the sums
  std::uint64_t received = 0;  // elements
  Type type = Type::f32;
  std::uint64_t chunk = 0;  // elements of each of several calls; else 0
  std::uint64_t chunk_bytes = 0;

  // One for each collective.
  [[nodiscard]] int all_reduce() const;
  [[nodiscard]] int all_gather() const;
  [[nodiscard]] int reduce_scatter() const;
  [[nodiscard]] int broadcast() const;
  [[nodiscard]] int reduce() const;
  [[nodiscard]] int alltoall() const;
  [[nodiscard]] int alltoallv() const;
  [[nodiscard]] int hypercube() const;
  [[nodiscard]] int sendrecv() const;  // to the next rank, from the previous one
  [[nodiscard]] int gather() const;
  [[nodiscard]] int scatter() const;
  [[nodiscard]] int pingpong() const;
  // A window of messages to the partner, which confirms that all have arrived.
  [[nodiscard]] int uniband() const;
  [[nodiscard]] int biband() const;  // a window each way
  [[nodiscard]] int barrier() const;

  // Splits a call whose counts exceed an int.
  [[nodiscard]] int in_chunks() const;
  // To and from the partner.
  [[nodiscard]] int send_one() const;
  [[nodiscard]] int receive_one() const;
  // Starts a window of sends or receives, and waits for them.
  [[nodiscard]] int window(bool sends, bool receives) const;

  [[nodiscard]] const void* sent() const { return send_in_place ? MPI_IN_PLACE : send; }

  [[nodiscard]] int count() const { return static_cast<int>(elements); }
};

// The types and operations that MPI lacks. MPI must be initialised.
class Types {
 public:
  Types();
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;
  ~Types();

  [[nodiscard]] static MPI_Datatype datatype(Type type);
  [[nodiscard]] MPI_Op op(Type type, Reduction reduction) const;

  // 16 bytes, for parts with more elements than fit into an int.
  [[nodiscard]] MPI_Datatype block() const { return block_; }

 private:
  std::array<std::array<MPI_Op, kReductions>, 4> own_;  // of f16, bf16, f8e4m3, f8e5m2
  MPI_Datatype block_ = MPI_DATATYPE_NULL;
};

// MPI 3's counts are ints.
inline constexpr std::uint64_t kMostElements = (std::uint64_t{1} << 31U) - 1;

// An error if the operation is too large even for several calls.
[[nodiscard]] Result<void> can_count(const Operation& operation, int rank, int ranks,
                                     std::uint64_t most = kMostElements);

[[nodiscard]] CallPlan plan_of(const Operation& operation, const HostMemory::Buffers& buffers,
                               const Types& types, MPI_Comm communicator, int rank, int ranks,
                               std::uint64_t most = kMostElements);

}  // namespace muster::bench::mpi
