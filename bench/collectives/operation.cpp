// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/operation.hpp"

#include <algorithm>

#include "lib/base/quantity.hpp"

namespace muster::bench {
namespace {

struct TypeRow {
  Type type;
  std::string_view name;
  std::string_view table_name;
  std::size_t size;
};

constexpr std::array kTypes{
    TypeRow{Type::f32, "f32", "float", 4},
    TypeRow{Type::f64, "f64", "double", 8},
    TypeRow{Type::f16, "f16", "half", 2},
    TypeRow{Type::bf16, "bf16", "bfloat16", 2},
    TypeRow{Type::i32, "i32", "int32", 4},
    TypeRow{Type::u8, "u8", "uint8", 1},
};

constexpr std::array<std::string_view, kCollectives> kCollectiveNames{"all_reduce",
                                                                      "all_gather",
                                                                      "reduce_scatter",
                                                                      "broadcast",
                                                                      "reduce",
                                                                      "alltoall",
                                                                      "sendrecv",
                                                                      "gather",
                                                                      "scatter"};

constexpr std::array<std::string_view, 4> kReductionNames{"sum", "min", "max", "avg"};

template <class Enum, std::size_t Size>
std::optional<Enum> at_name(const std::array<std::string_view, Size>& names,
                            std::string_view word) {
  const auto* const found = std::ranges::find(names, word);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

// Whether the size asked for is that of all ranks' parts together.
bool in_parts(Collective collective) {
  switch (collective) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter:
      return true;
    default:
      return false;
  }
}

// A part begins at a multiple of 16 bytes, as in nccl-tests.
std::uint64_t part_of(std::uint64_t elements, std::size_t size, std::uint64_t ranks) {
  const std::uint64_t unit = 16 / size;
  return elements / ranks / unit * unit;
}

Shape shape_of_parts(const Operation& operation, std::uint64_t rank, std::uint64_t ranks) {
  const auto size = size_of(operation.type);
  const auto part = part_of(operation.bytes / size, size, ranks);
  const auto all = part * ranks;
  const bool is_root = rank == static_cast<std::uint64_t>(operation.root);
  Shape shape{.count = part, .send = all, .receive = all, .bytes = all * size};
  switch (operation.collective) {
    case Collective::all_gather:
      shape.send = part;
      shape.send_at = rank * part;
      break;
    case Collective::reduce_scatter:
      shape.receive = part;
      shape.receive_at = rank * part;
      break;
    case Collective::gather:
      shape.send = part;
      shape.receive = is_root ? all : 0;
      shape.send_at = is_root ? rank * part : 0;
      break;
    case Collective::scatter:
      shape.send = is_root ? all : 0;
      shape.receive = part;
      shape.receive_at = is_root ? rank * part : 0;
      break;
    default:
      break;
  }
  return shape;
}

}  // namespace

std::string_view to_string(Collective collective) {
  return kCollectiveNames.at(static_cast<std::size_t>(collective));
}

std::string_view to_string(Type type) { return kTypes.at(static_cast<std::size_t>(type)).name; }

std::string_view to_string(Reduction reduction) {
  return kReductionNames.at(static_cast<std::size_t>(reduction));
}

std::string_view table_name(Type type) {
  return kTypes.at(static_cast<std::size_t>(type)).table_name;
}

std::optional<Collective> parse_collective(std::string_view word) {
  return at_name<Collective>(kCollectiveNames, word);
}

std::optional<Type> parse_type(std::string_view word) {
  const auto* const found = std::ranges::find(kTypes, word, &TypeRow::name);
  if (found == kTypes.end()) return std::nullopt;
  return found->type;
}

std::optional<Reduction> parse_reduction(std::string_view word) {
  return at_name<Reduction>(kReductionNames, word);
}

std::string size_text(std::uint64_t bytes) { return to_string(Bytes{static_cast<double>(bytes)}); }

std::size_t size_of(Type type) { return kTypes.at(static_cast<std::size_t>(type)).size; }

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

bool has_root(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::gather || collective == Collective::scatter;
}

Shape shape_of(const Operation& operation, int rank, int ranks) {
  if (in_parts(operation.collective)) {
    return shape_of_parts(
        operation, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(ranks));
  }
  const auto count = operation.bytes / size_of(operation.type);
  Shape shape{
      .count = count, .send = count, .receive = count, .bytes = count * size_of(operation.type)};
  if (rank == operation.root) return shape;
  if (operation.collective == Collective::broadcast) shape.send = 0;
  if (operation.collective == Collective::reduce) shape.receive = 0;
  return shape;
}

double bus_factor(Collective collective, int ranks) {
  if (ranks <= 1) return 0;
  const auto n = static_cast<double>(ranks);
  if (collective == Collective::all_reduce) return 2 * (n - 1) / n;
  return in_parts(collective) ? (n - 1) / n : 1;
}

}  // namespace muster::bench
