// SPDX-License-Identifier: Apache-2.0
// Pairs of ranks, and the ways that data take from the one to the other. Small enough for thousands
// of ranks that all send to all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::bench {

class RankPairs {
 public:
  // A set of ways: a bit for each, in the order of names().
  using Ways = std::uint16_t;

  // Of more than 16 ways the later ones are left out.
  void add(int from, int to, std::string_view way);
  // From each of the one to each of the other.
  void add(std::span<const int> from, std::span<const int> to, std::string_view way);

  [[nodiscard]] bool empty() const { return size_ == 0; }

  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  [[nodiscard]] std::set<std::string> names_of(Ways ways) const;
  [[nodiscard]] std::set<std::string> between(int from, int to) const;

  // Calls `use(from, to, ways)` in the order of the pairs.
  template <class Use>
  void for_each(Use use) const {
    for (std::size_t from = 0; from < rows_.size(); ++from) {
      const auto& row = rows_[from];
      for (std::size_t at = 0; at < row.ways.size(); ++at) {
        if (row.ways[at] == 0) continue;
        use(static_cast<int>(from), row.first + static_cast<int>(at), row.ways[at]);
      }
    }
  }

  bool operator==(const RankPairs& other) const;

 private:
  // From one rank, to those from the first on.
  struct Row {
    int first = 0;
    std::vector<Ways> ways;
  };

  [[nodiscard]] Ways bit_of(std::string_view way);
  void add(int from, int to, Ways way);

  std::vector<std::string> names_;
  std::vector<Row> rows_;
  std::size_t size_ = 0;
};

}  // namespace muster::bench
