// SPDX-License-Identifier: Apache-2.0
// One operation as calls of MPI. Everything is decided before the timed loop, which only calls
// run().
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/backends/host_memory.hpp"
#include "bench/collectives/definition.hpp"
#include "bench/collectives/operation.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::mpi {

struct PlanParts {
  const MpiUse* use = nullptr;
  MPI_Comm communicator = MPI_COMM_NULL;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  bool in_place = false;
  bool send_in_place = false;  // the send buffer is MPI_IN_PLACE
  bool receive_in_place = false;
  std::uint64_t count = 0;  // of `datatype`
  std::uint64_t part_bytes = 0;
  // Of `datatype`, for each rank, where parts are unequal.
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
};

class Plan final : public MpiCalls {
 public:
  explicit Plan(const PlanParts& parts) : parts_(parts) {}

  [[nodiscard]] std::string_view name() const { return parts_.use->name; }

  // Runs the whole operation. Returns MPI's result code.
  [[nodiscard]] int run() const;

  [[nodiscard]] int all_reduce() const override;
  [[nodiscard]] int all_gather() const override;
  [[nodiscard]] int reduce_scatter_block() const override;
  [[nodiscard]] int broadcast() const override;
  [[nodiscard]] int reduce() const override;
  [[nodiscard]] int alltoall() const override;
  [[nodiscard]] int alltoallv() const override;
  [[nodiscard]] int hypercube() const override;
  [[nodiscard]] int sendrecv() const override;
  [[nodiscard]] int gather() const override;
  [[nodiscard]] int scatter() const override;
  [[nodiscard]] int pingpong() const override;
  [[nodiscard]] int uniband() const override;
  [[nodiscard]] int biband() const override;
  [[nodiscard]] int barrier() const override;

 private:
  // One call, or as many as its counts, which are ints, make necessary.
  [[nodiscard]] int call() const { return (this->*parts_.use->call)(); }

  [[nodiscard]] int in_chunks() const;

  // To and from the partner.
  [[nodiscard]] int send_one() const;
  [[nodiscard]] int receive_one() const;
  // Starts a window of sends or receives, and waits for them.
  [[nodiscard]] int window(bool sends, bool receives) const;

  [[nodiscard]] const void* sent() const {
    return parts_.send_in_place ? MPI_IN_PLACE : parts_.send;
  }

  [[nodiscard]] int count() const { return static_cast<int>(parts_.count); }

  PlanParts parts_;
};

// The types and operations that MPI lacks; made and freed with MPI running.
class Types {
 public:
  Types();
  Types(const Types&) = delete;
  Types(Types&&) = delete;
  Types& operator=(const Types&) = delete;
  Types& operator=(Types&&) = delete;
  ~Types();

  [[nodiscard]] static MPI_Datatype datatype(Type type);
  [[nodiscard]] MPI_Op op(Type type, Reduction reduction) const;

  // 16 bytes of any type, for parts with more elements than an int can count.
  [[nodiscard]] MPI_Datatype block() const { return block_; }

 private:
  std::array<std::array<MPI_Op, kReductions>, 4> own_;  // of f16, bf16, f8e4m3, f8e5m2
  MPI_Datatype block_ = MPI_DATATYPE_NULL;
};

// More than this many elements are no longer one call. MPI 3's counts are ints.
inline constexpr std::uint64_t kMostElements = (std::uint64_t{1} << 31U) - 1;

// Where an operation is too large even in several calls: a sentence.
[[nodiscard]] Result<void> can_count(const Operation& operation,
                                     int rank,
                                     int ranks,
                                     std::uint64_t most = kMostElements);

[[nodiscard]] Plan plan_of(const Operation& operation,
                           const HostMemory::Buffers& buffers,
                           const Types& types,
                           MPI_Comm communicator,
                           int rank,
                           int ranks,
                           std::uint64_t most = kMostElements);

}  // namespace muster::bench::mpi
