// SPDX-License-Identifier: Apache-2.0
// What is run: one collective, of one type and size, in or out of place; and how its sizes and its
// bus bandwidth are counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster::bench {

// The table of collectives, a row for each, in the order of help texts. What a row stands for is
// defined in the file of its name in this folder.
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

#define MUSTER_COLLECTIVE(name) +1
inline constexpr std::size_t kCollectives = MUSTER_COLLECTIVES(MUSTER_COLLECTIVE);
#undef MUSTER_COLLECTIVE

// Tables of types and of reductions are in this order.
enum class Type { f32, f64, f16, bf16, f8e4m3, f8e5m2, i8, i32, i64, u8, u32, u64 };
inline constexpr std::size_t kTypes = 12;
enum class Reduction { sum, prod, min, max, avg };
inline constexpr std::size_t kReductions = 5;

struct Operation {
  Collective collective = Collective::all_reduce;
  Type type = Type::f32;
  Reduction reduction = Reduction::sum;
  int root = 0;
  bool in_place = false;
  std::uint64_t bytes = 0;  // as asked for; the parts of all ranks together where data are in parts

  bool operator==(const Operation&) const = default;
};

[[nodiscard]] std::string_view to_string(Collective collective);
[[nodiscard]] std::string_view to_string(Type type);            // f32, bf16 …
[[nodiscard]] std::string_view to_string(Reduction reduction);  // sum …
// The type as nccl-tests' table writes it: float, double, half, bfloat16, int32, uint8 …
[[nodiscard]] std::string_view table_name(Type type);
[[nodiscard]] std::optional<Collective> parse_collective(std::string_view word);

// "8 MiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

[[nodiscard]] std::size_t size_of(Type type);
[[nodiscard]] bool reduces(Collective collective);   // all_reduce, reduce_scatter, reduce
[[nodiscard]] bool has_root(Collective collective);  // broadcast, reduce, gather, scatter

[[nodiscard]] bool moves_data(Collective collective);  // all but barrier

// An error if so many ranks cannot run the operation, such as an odd number of them in pairs, or if
// it cannot be done in place.
[[nodiscard]] Result<void> can_run(const Operation& operation, int ranks);

// The messages that one operation is made of, one after the other or under way together: all times
// are divided by their number. 1 but for those between pairs of ranks.
[[nodiscard]] int messages_of(const Operation& operation);

// Whether the operation gives the same result when it is run again on the buffers that it left: not
// where it adds up in place, or exchanges what ranks have.
[[nodiscard]] bool is_repeatable(const Operation& operation);

// Elements that each rank sends and receives. What does not divide by the ranks is rounded down, to
// parts of whole 16 bytes where data are in parts, as in nccl-tests.
struct Shape {
  // What the library is told: per rank and peer where data are in parts, and the unit of these
  // where they are unequal.
  std::uint64_t count = 0;
  std::uint64_t send = 0;     // elements in the send buffer of `rank`
  std::uint64_t receive = 0;  // elements in the receive buffer of `rank`; 0 where it gets nothing
  std::uint64_t bytes = 0;    // after rounding: the table's `size`, and what bandwidth counts
  // In place, the send buffer begins at this element of the one buffer (whose length is the larger
  // of the two), and the receive buffer at that one.
  std::uint64_t send_at = 0;
  std::uint64_t receive_at = 0;

  bool operator==(const Shape&) const = default;
};

[[nodiscard]] Shape shape_of(const Operation& operation, int rank, int ranks);

// Bus bandwidth is algorithm bandwidth times this; 0 for a single rank.
[[nodiscard]] double bus_factor(Collective collective, int ranks);

}  // namespace muster::bench
