// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/operation.hpp"

#include <fmt/format.h>

#include <bit>

#include "bench/collectives/definition.hpp"
#include "lib/base/quantity.hpp"

namespace muster::bench {
namespace {

struct TypeRow {
  Type type;
  std::string_view name;
  std::string_view table_name;
  std::size_t size;
};

constexpr std::array<TypeRow, kTypes> kTypeRows{{
    {Type::f32, "f32", "float", 4},
    {Type::f64, "f64", "double", 8},
    {Type::f16, "f16", "half", 2},
    {Type::bf16, "bf16", "bfloat16", 2},
    {Type::f8e4m3, "f8e4m3", "f8e4m3", 1},
    {Type::f8e5m2, "f8e5m2", "f8e5m2", 1},
    {Type::i8, "i8", "int8", 1},
    {Type::i32, "i32", "int32", 4},
    {Type::i64, "i64", "int64", 8},
    {Type::u8, "u8", "uint8", 1},
    {Type::u32, "u32", "uint32", 4},
    {Type::u64, "u64", "uint64", 8},
}};

constexpr std::array<std::string_view, kReductions> kReductionNames{"sum", "prod", "min", "max",
                                                                    "avg"};

// Parts are multiples of 16 bytes, as in nccl-tests.
std::uint64_t part_of(std::uint64_t elements, std::size_t size, std::uint64_t ranks) {
  const std::uint64_t unit = 16 / size;
  return elements / ranks / unit * unit;
}

}  // namespace

std::string_view to_string(Collective collective) { return definition_of(collective).name; }

std::string_view to_string(Type type) { return kTypeRows.at(static_cast<std::size_t>(type)).name; }

std::string_view to_string(Reduction reduction) {
  return kReductionNames.at(static_cast<std::size_t>(reduction));
}

std::string_view table_name(Type type) {
  return kTypeRows.at(static_cast<std::size_t>(type)).table_name;
}

std::optional<Collective> parse_collective(std::string_view word) {
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (to_string(collective) == word) return collective;
  }
  return std::nullopt;
}

std::string size_text(std::uint64_t bytes) { return to_string(Bytes{static_cast<double>(bytes)}); }

std::size_t size_of(Type type) { return kTypeRows.at(static_cast<std::size_t>(type)).size; }

bool reduces(Collective collective) { return definition_of(collective).reduces; }

bool has_root(Collective collective) { return definition_of(collective).has_root; }

bool moves_data(Collective collective) { return !definition_of(collective).no_data; }

Result<void> can_run(const Operation& operation, int ranks) {
  const auto& definition = definition_of(operation.collective);
  const bool never_in_place =
      definition.in_pairs || definition.no_data || definition.out_of_place_only;
  if (operation.in_place && never_in_place) {
    return make_error(fmt::format("{} cannot run in place", definition.name));
  }
  if (definition.in_pairs && ranks % 2 != 0) {
    return make_error(
        fmt::format("{} needs an even number of ranks, got {}", definition.name, ranks));
  }
  if (definition.power_of_two && !std::has_single_bit(static_cast<unsigned>(ranks))) {
    return make_error(fmt::format("{} needs 2, 4, 8 … ranks, got {}", definition.name, ranks));
  }
  return {};
}

int messages_of(const Operation& operation) {
  const auto messages = definition_of(operation.collective).messages;
  return messages == nullptr ? 1 : messages(operation.bytes);
}

bool is_repeatable(const Operation& operation) {
  if (!operation.in_place) return true;
  const auto& definition = definition_of(operation.collective);
  if (definition.exchanges) return false;
  return !definition.reduces || operation.reduction == Reduction::min ||
         operation.reduction == Reduction::max;
}

Shape shape_of(const Operation& operation, int rank, int ranks) {
  const auto& definition = definition_of(operation.collective);
  const auto size = size_of(operation.type);
  const auto elements = definition.no_data ? 0 : operation.bytes / size;
  const auto equal = definition.in_parts ? static_cast<std::uint64_t>(ranks) : 1;
  const auto parts = definition.unequal ? shares_of(ranks) : equal;
  const auto count = definition.in_parts ? part_of(elements, size, parts) : elements;
  const auto all = count * parts;
  Shape shape{.count = count, .send = all, .receive = all, .bytes = all * size};
  if (definition.shape != nullptr) {
    definition.shape(shape, {.rank = rank, .ranks = ranks, .root = operation.root});
  }
  return shape;
}

double bus_factor(Collective collective, int ranks) {
  return ranks <= 1 ? 0 : definition_of(collective).bus_factor(ranks);
}

}  // namespace muster::bench
