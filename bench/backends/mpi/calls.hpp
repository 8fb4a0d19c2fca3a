// SPDX-License-Identifier: Apache-2.0
// One operation as calls of MPI. Everything is decided before the timed loop, which only calls
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
struct Plan {
  // Runs the whole operation. Returns MPI's result code.
  [[nodiscard]] int run() const;

  const MpiUse* use = nullptr;
  int (Plan::*call)() const = nullptr;  // one of those below
  MPI_Comm communicator = MPI_COMM_NULL;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  bool in_place = false;
  bool send_in_place = false;  // the send buffer is MPI_IN_PLACE
  bool receive_in_place = false;
  std::uint64_t elements = 0;  // of `datatype`
  std::uint64_t part_bytes = 0;
  // Counts and places in units of `datatype`, one for each rank, where parts are unequal.
  std::vector<int> send_counts = {}, send_at = {}, receive_counts = {}, receive_at = {};
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  Participant self;
  int messages = 1;

  // Averages are divided here.
  bool averages = false;
  std::uint64_t received = 0;  // elements
  Type type = Type::f32;
  std::uint64_t chunk = 0;  // elements of a call where there are several; else 0
  std::uint64_t chunk_bytes = 0;

  // What is called for each collective.
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
  // A window of messages from each rank that begins to its partner, which confirms that all came.
  [[nodiscard]] int uniband() const;
  [[nodiscard]] int biband() const;  // a window each way
  [[nodiscard]] int barrier() const;

  // Makes as many calls as the counts, which are ints, need.
  [[nodiscard]] int in_chunks() const;
  // These send to the partner, and receive from it.
  [[nodiscard]] int send_one() const;
  [[nodiscard]] int receive_one() const;
  // Starts a window of sends or receives, and waits for them.
  [[nodiscard]] int window(bool sends, bool receives) const;

  [[nodiscard]] const void* sent() const { return send_in_place ? MPI_IN_PLACE : send; }

  [[nodiscard]] int count() const { return static_cast<int>(elements); }
};

// The types and operations that MPI lacks; made and freed with MPI running.
class Types {
 public:
  Types();
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;
  ~Types();

  [[nodiscard]] static MPI_Datatype datatype(Type type);
  [[nodiscard]] MPI_Op op(Type type, Reduction reduction) const;

  // 16 bytes of any type, for parts with more elements than an int can count.
  [[nodiscard]] MPI_Datatype block() const { return block_; }

 private:
  std::array<std::array<MPI_Op, kReductions>, 4> own_;  // of f16, bf16, f8e4m3, f8e5m2
  MPI_Datatype block_ = MPI_DATATYPE_NULL;
};

// The most elements that one call can have: MPI 3's counts are ints.
inline constexpr std::uint64_t kMostElements = (std::uint64_t{1} << 31U) - 1;

// An error if the operation is too large for MPI's counts, even in several calls.
[[nodiscard]] Result<void> can_count(const Operation& operation, int rank, int ranks,
                                     std::uint64_t most = kMostElements);

[[nodiscard]] Plan plan_of(const Operation& operation, const HostMemory::Buffers& buffers,
                           const Types& types, MPI_Comm communicator, int rank, int ranks,
                           std::uint64_t most = kMostElements);

}  // namespace muster::bench::mpi
