// SPDX-License-Identifier: Apache-2.0
// check_hw_physmem, check_hw_swap, check_hw_mem, and how much of each is free.
#include "checks/nhc_conf/judging.hpp"
#include "checks/nhc_conf/size.hpp"

namespace muster::nhc {
namespace {

using Size = Fact<std::uint64_t>;

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
    const auto size = parse_size(word);
    if (!size) return tl::unexpected(size.error());
    *limit = *size;
  }
  if (const auto fudge = argument(arguments, 2); !fudge.empty()) {
    const auto amount = parse_amount(fudge, parse_size);
    if (!amount) return tl::unexpected(amount.error());
    range.fudge = *amount;
  }
  return range;
}

// A share is one of what was found, not of what is wanted: NHC reckons so.
Findings judge_range(const Snapshot& snapshot,
                     std::string_view what,
                     const Size& size,
                     const Arguments& arguments) {
  const auto range = range_of(arguments);
  if (!range) return {not_judged(range.error().message)};
  if (!size) return {checks::not_known(checks::kNode, fmt::format("the size of {}", what), size)};
  const auto seen = static_cast<double>(*size);
  const double band = range->fudge.percent ? seen * range->fudge.value / 100 : range->fudge.value;
  const bool low = seen + band < range->least;
  const bool high = range->most >= 0 && seen - band > range->most;
  auto message = fmt::format("{} of {}", size_in_words(seen), what);
  if (!low && !high) return {checks::passed(std::move(message))};
  const double limit = low ? range->least : range->most;
  const std::string within =
      band > 0 ? fmt::format(" within {}", argument(arguments, 2)) : std::string();
  return {
      {.device = std::string(checks::kNode),
       .outcome = Outcome::fail,
       .message = fmt::format("{}, {} than the {} wanted{}",
                              message,
                              low ? "less" : "more",
                              size_in_words(limit),
                              within),
       .observed = bytes_value(seen),
       .limit = bytes_value(limit),
       .unit = "B",
       .remedy = low && what == "memory" ? checks::hardware_remedy(snapshot) : Remedy::fix_config}};
}

Findings judge_least(std::string_view what, const Size& size, const Arguments& arguments) {
  const auto least = parse_size(argument(arguments, 0));
  if (!least) return {not_judged(least.error().message)};
  if (*least <= 0) return {checks::passed(fmt::format("no {} has to be free", what))};
  if (!size)
    return {checks::not_known(checks::kNode, fmt::format("how much {} is free", what), size)};
  const auto seen = static_cast<double>(*size);
  auto message = fmt::format("{} of {} free", size_in_words(seen), what);
  if (seen >= *least) return {checks::passed(std::move(message))};
  return {{.device = std::string(checks::kNode),
           .outcome = Outcome::fail,
           .message = fmt::format("{}, less than the {} wanted", message, size_in_words(*least)),
           .observed = bytes_value(seen),
           .limit = bytes_value(*least),
           .unit = "B",
           .remedy = Remedy::watch}};
}

Size sum(const Size& a, const Size& b) {
  if (!a) return a;
  if (!b) return b;
  return *a + *b;
}

}  // namespace

Findings judge_physmem(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_range(snapshot, "memory", snapshot.memory->total_bytes, arguments);
}

Findings judge_swap(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_range(snapshot, "swap", snapshot.memory->swap_total_bytes, arguments);
}

Findings judge_mem(const Snapshot& snapshot, const Arguments& arguments) {
  const auto total = sum(snapshot.memory->total_bytes, snapshot.memory->swap_total_bytes);
  return judge_range(snapshot, "memory and swap", total, arguments);
}

// MemAvailable, where NHC adds what is free, in buffers and in the cache: files in memory (tmpfs)
// count there as free, and are not.
Findings judge_physmem_free(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_least("memory", snapshot.memory->available_bytes, arguments);
}

Findings judge_swap_free(const Snapshot& snapshot, const Arguments& arguments) {
  return judge_least("swap", snapshot.memory->swap_free_bytes, arguments);
}

Findings judge_mem_free(const Snapshot& snapshot, const Arguments& arguments) {
  const auto total = sum(snapshot.memory->available_bytes, snapshot.memory->swap_free_bytes);
  return judge_least("memory and swap", total, arguments);
}

}  // namespace muster::nhc
