// SPDX-License-Identifier: Apache-2.0
// An operation: a collective of one type and size, in or out of place. Also how its sizes and its
// bus bandwidth are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// The collectives, in the order of help texts.
#define MUSTER_COLLECTIVES(ROW) \
  ROW(all_reduce)               \
  ROW(all_gather)               \
  ROW(reduce_scatter)           \
  ROW(broadcast)                \
  ROW(reduce)                   \
  ROW(alltoall)                 \
  ROW(alltoallv)                \
  ROW(hypercube)                \
  ROW(sendrecv)                 \
  ROW(gather)                   \
  ROW(scatter)                  \
  ROW(pingpong)                 \
  ROW(uniband)                  \
  ROW(biband)                   \
  ROW(barrier)

#define MUSTER_COLLECTIVE(name) name,
enum class Collective { MUSTER_COLLECTIVES(MUSTER_COLLECTIVE) };
#undef MUSTER_COLLECTIVE

#define MUSTER_COLLECTIVE(name) #name,
MUSTER_WORDS(Collective, MUSTER_COLLECTIVES(MUSTER_COLLECTIVE));
#undef MUSTER_COLLECTIVE

// Tables of types and of reductions use this order.
enum class Type { f32, f64, f16, bf16, f8e4m3, f8e5m2, i8, i32, i64, u8, u32, u64 };
MUSTER_WORDS(Type, "f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2", "i8", "i32", "i64", "u8", "u32",
             "u64");
enum class Reduction { sum, prod, min, max, avg };
MUSTER_WORDS(Reduction, "sum", "prod", "min", "max", "avg");

inline constexpr std::size_t kCollectives = kCollectiveWords.size();
inline constexpr std::size_t kTypes = kTypeWords.size();
inline constexpr std::size_t kReductions = kReductionWords.size();
using muster::to_string;

struct Operation {
  Collective collective = Collective::all_reduce;
  Type type = Type::f32;
  Reduction reduction = Reduction::sum;
  int root = 0;
  bool in_place = false;
  std::uint64_t bytes = 0;  // as requested; of all ranks' parts together if data are in parts

  bool operator==(const Operation&) const = default;
};

// The name in nccl-tests' table: float, double, half, bfloat16, int32, uint8 …
[[nodiscard]] std::string_view table_name(Type type);

// "8 MiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

[[nodiscard]] std::size_t size_of(Type type);
[[nodiscard]] bool reduces(Collective collective);   // all_reduce, reduce_scatter, reduce
[[nodiscard]] bool has_root(Collective collective);  // broadcast, reduce, gather, scatter

[[nodiscard]] bool moves_data(Collective collective);  // all but barrier

// An error if this number of ranks cannot run the operation, or if it cannot be done in place.
[[nodiscard]] Result<void> can_run(const Operation& operation, int ranks);

// The number of messages in one operation, by which all times are divided. 1 except between pairs
// of ranks.
[[nodiscard]] int messages_of(const Operation& operation);

// Whether running the operation again on the same buffers gives the same result. Not if it sums in
// place or exchanges data.
[[nodiscard]] bool is_repeatable(const Operation& operation);

// The elements that a rank sends and receives. Parts are rounded down to multiples of 16 bytes, as
// in nccl-tests.
struct Shape {
  // The count for the library: of one part if data are in parts, and of one unit if these are
  // unequal.
  std::uint64_t count = 0;
  std::uint64_t send = 0;     // elements in the send buffer
  std::uint64_t receive = 0;  // elements in the receive buffer
  std::uint64_t bytes = 0;    // after rounding: the table's `size`, used for the bandwidth
  // In place, the elements of the shared buffer at which the two begin. Its length is the larger of
  // the two.
  std::uint64_t send_at = 0;
  std::uint64_t receive_at = 0;

  bool operator==(const Shape&) const = default;
};

[[nodiscard]] Shape shape_of(const Operation& operation, int rank, int ranks);

// Units of a buffer.
struct Stretch {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  bool operator==(const Stretch&) const = default;
};

// The units that one rank of alltoallv sends, and that it receives. Its parts are unequal: that for
// the rank at a distance has 1, 2, 3 or 4 units in turn. Two ranks send each other different
// amounts, but all ranks send and receive the same total.
[[nodiscard]] std::uint64_t shares_of(int ranks);
// Parts are in the order of the peers.
[[nodiscard]] Stretch sent_to(int peer, int rank, int ranks);
[[nodiscard]] Stretch received_from(int peer, int rank, int ranks);

// The ratio of bus bandwidth to algorithm bandwidth; 0 for a single rank.
[[nodiscard]] double bus_factor(Collective collective, int ranks);

}  // namespace muster::bench
