// SPDX-License-Identifier: Apache-2.0
// One operation as calls of MPI: all is decided before the timed loop, which calls `run` only.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>

#include "bench/backends/host_memory.hpp"
#include "bench/collectives/operation.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::mpi {

struct Plan;
using Call = int (*)(const Plan& plan);

struct Plan {
  std::string_view name;  // of MPI's function, for messages
  Call call = nullptr;    // one call of it
  Call whole = nullptr;   // as many calls as its counts, which are ints, make necessary
  Call run = nullptr;     // and what is left to do on this rank

  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  bool send_in_place = false;
  bool receive_in_place = false;
  std::uint64_t count = 0;  // of `datatype`
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  int next = 0, previous = 0;

  // Averages are divided here.
  std::byte* divided = nullptr;
  std::uint64_t divided_count = 0;
  Type type = Type::f32;
  int ranks = 1;
  std::uint64_t chunk = 0;  // elements of a call where there are several
  std::uint64_t chunk_bytes = 0;
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
  MPI_Op f16_sum_ = MPI_OP_NULL, f16_min_ = MPI_OP_NULL, f16_max_ = MPI_OP_NULL;
  MPI_Op bf16_sum_ = MPI_OP_NULL, bf16_min_ = MPI_OP_NULL, bf16_max_ = MPI_OP_NULL;
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
                           int rank,
                           int ranks,
                           std::uint64_t most = kMostElements);

}  // namespace muster::bench::mpi
