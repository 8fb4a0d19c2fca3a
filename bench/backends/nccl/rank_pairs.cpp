// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "bench/backends/nccl/transport.hpp"

namespace muster::bench {

void RankPairs::add(int from, int to, std::string_view way) {
  add(std::span(&from, 1), std::span(&to, 1), way);
}

void RankPairs::add(std::span<const int> from, std::span<const int> to, std::string_view way) {
  const auto bit = bit_of(way);
  for (const int one : from) {
    for (const int other : to) add(one, other, bit);
  }
}

// None where there are too many already.
RankPairs::Ways RankPairs::bit_of(std::string_view way) {
  auto found = std::ranges::find(names_, way);
  if (found == names_.end()) {
    if (names_.size() == std::numeric_limits<Ways>::digits) return 0;
    found = names_.insert(names_.end(), std::string(way));
  }
  return static_cast<Ways>(1U << (found - names_.begin()));
}

void RankPairs::add(int from, int to, Ways way) {
  if (way == 0) return;
  const auto row_at = static_cast<std::size_t>(from);
  if (row_at >= rows_.size()) rows_.resize(row_at + 1);
  auto& row = rows_[row_at];
  if (row.ways.empty()) row.first = to;
  if (to < row.first) {
    row.ways.insert(row.ways.begin(), static_cast<std::size_t>(row.first - to), 0);
    row.first = to;
  }
  const auto at = static_cast<std::size_t>(to - row.first);
  if (at >= row.ways.size()) row.ways.resize(at + 1);
  if (row.ways[at] == 0) ++size_;
  row.ways[at] = static_cast<Ways>(row.ways[at] | way);
}

std::set<std::string> RankPairs::names_of(Ways ways) const {
  std::set<std::string> names;
  for (std::size_t bit = 0; bit < names_.size(); ++bit) {
    if ((ways >> bit & 1U) != 0) names.insert(names_[bit]);
  }
  return names;
}

std::set<std::string> RankPairs::between(int from, int to) const {
  if (from < 0 || static_cast<std::size_t>(from) >= rows_.size()) return {};
  const auto& row = rows_[static_cast<std::size_t>(from)];
  const auto at = static_cast<std::size_t>(to - row.first);
  return to < row.first || at >= row.ways.size() ? std::set<std::string>() : names_of(row.ways[at]);
}

bool RankPairs::operator==(const RankPairs& other) const {
  if (size_ != other.size_) return false;
  bool same = true;
  for_each([&](int from, int to, Ways ways) {
    same = same && names_of(ways) == other.between(from, to);
  });
  return same;
}

}  // namespace muster::bench
