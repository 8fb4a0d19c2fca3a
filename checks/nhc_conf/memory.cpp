// SPDX-License-Identifier: Apache-2.0
// check_hw_physmem, check_hw_swap, check_hw_mem, and how much of each is free.
#include <array>

#include "checks/nhc_conf/size.hpp"
#include "checks/nhc_conf/table.hpp"

namespace muster::nhc {
namespace {

using Size = Fact<std::uint64_t>;
using Parts = std::array<Size Memory::*, 2>;  // the second may be null

// What a check is about, and what its size and what is free of it are the sum of.
struct Kind {
  std::string_view name;
  Parts total, free;
};

constexpr Kind kMemory{"memory", {&Memory::total_bytes}, {&Memory::available_bytes}};
constexpr Kind kSwap{"swap", {&Memory::swap_total_bytes}, {&Memory::swap_free_bytes}};
constexpr Kind kBoth{"memory and swap",
                     {&Memory::total_bytes, &Memory::swap_total_bytes},
                     {&Memory::available_bytes, &Memory::swap_free_bytes}};

Size sum(const Memory& memory, const Parts& parts) {
  const auto& first = memory.*parts[0];
  if (!first || parts[1] == nullptr) return first;
  const auto& second = memory.*parts[1];
  return second ? Size(*first + *second) : second;
}

Value bytes_value(double bytes) { return checks::count_value(static_cast<std::uint64_t>(bytes)); }

struct Range {
  double least = 0, most = -1;  // most below 0: no limit
  Amount fudge;
};

Result<Range> range_of(const Arguments& arguments) {
  Range range;
  for (const auto& [index, limit] : {std::pair{0U, &range.least}, std::pair{1U, &range.most}}) {
    const auto word = argument(arguments, index);
    if (word.empty()) continue;
    TRY_ASSIGN(const auto size, parse_size(word));
    *limit = size;
  }
  if (const auto fudge = argument(arguments, 2); !fudge.empty()) {
    TRY_ASSIGN(const auto amount, parse_amount(fudge, parse_size));
    range.fudge = amount;
  }
  return range;
}

Finding of_bytes(Finding finding, double observed, double limit) {
  finding.unit = "B";
  return compared(std::move(finding), bytes_value(observed), bytes_value(limit));
}

// A share is one of what was found, not of what is wanted: NHC reckons so.
template <const Kind& kKind>
Findings judge_size(const Snapshot& snapshot, const Arguments& arguments) {
  const auto range = range_of(arguments);
  if (!range) return {not_judged(range.error().message)};
  const auto size = sum(*snapshot.memory, kKind.total);
  if (!size) {
    return {checks::not_known(checks::kNode, fmt::format("the size of {}", kKind.name), size)};
  }
  const auto seen = static_cast<double>(*size);
  const double band = range->fudge.percent ? seen * range->fudge.value / 100 : range->fudge.value;
  const bool low = seen + band < range->least;
  const bool high = range->most >= 0 && seen - band > range->most;
  auto message = fmt::format("{} of {}", size_in_words(seen), kKind.name);
  if (!low && !high) return {checks::passed(std::move(message))};
  const double limit = low ? range->least : range->most;
  const std::string within =
      band > 0 ? fmt::format(" within {}", argument(arguments, 2)) : std::string();
  const bool broken = low && kKind.name == kMemory.name;
  return {of_bytes(failed(fmt::format("{}, {} than the {} wanted{}", message, low ? "less" : "more",
                                      size_in_words(limit), within),
                          broken ? checks::hardware_remedy(snapshot) : Remedy::fix_config),
                   seen, limit)};
}

// MemAvailable, where NHC adds what is free, in buffers and in the cache: files in memory (tmpfs)
// count there as free, and are not.
template <const Kind& kKind>
Findings judge_free(const Snapshot& snapshot, const Arguments& arguments) {
  const auto least = parse_size(argument(arguments, 0));
  if (!least) return {not_judged(least.error().message)};
  if (*least <= 0) return {checks::passed(fmt::format("no {} has to be free", kKind.name))};
  const auto size = sum(*snapshot.memory, kKind.free);
  if (!size) {
    return {checks::not_known(checks::kNode, fmt::format("how much {} is free", kKind.name), size)};
  }
  const auto seen = static_cast<double>(*size);
  auto message = fmt::format("{} of {} free", size_in_words(seen), kKind.name);
  if (seen >= *least) return {checks::passed(std::move(message))};
  return {
      of_bytes(failed(fmt::format("{}, less than the {} wanted", message, size_in_words(*least)),
                      Remedy::watch),
               seen, *least)};
}

}  // namespace

std::vector<Row> memory_rows() {
  return {
      judged("check_hw_physmem", judge_size<kMemory>, Probe::memory, 1, 3),
      judged("check_hw_physmem_free", judge_free<kMemory>, Probe::memory, 1, 1),
      judged("check_hw_swap", judge_size<kSwap>, Probe::memory, 1, 3),
      judged("check_hw_swap_free", judge_free<kSwap>, Probe::memory, 1, 1),
      judged("check_hw_mem", judge_size<kBoth>, Probe::memory, 1, 3),
      judged("check_hw_mem_free", judge_free<kBoth>, Probe::memory, 1, 1),
  };
}

}  // namespace muster::nhc
