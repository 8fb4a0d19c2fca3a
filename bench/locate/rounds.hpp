// SPDX-License-Identifier: Apache-2.0
// Measures rounds, and repeats each one until its noise is small enough to tell a slow group from a
// healthy one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/locate/measurer.hpp"
#include "bench/locate/rule.hpp"

namespace muster::bench::locate {

struct Round {
  std::vector<NodeGroup> groups;
  std::vector<std::optional<double>> gbps;  // the median of each group; empty if it did not finish
  double noise = 0;                         // the deviation of such a median, as a share

  [[nodiscard]] std::size_t size() const { return groups.size(); }
};

// The medians of the groups that finished, from the group with index `from` on.
[[nodiscard]] std::vector<double> finished(const Round& round, std::size_t from = 0);

// The scale of the groups from index `from` on, with at least the deviation of `usual`; `usual` if
// they are too few.
[[nodiscard]] Scale scale_from(const Round& round, std::size_t from, const Scale& usual);

class Rounds {
 public:
  // Called before each round; may be empty.
  using Watch = std::function<void(const std::string& title, std::size_t groups)>;

  Rounds(Measurer& measurer, const Floor& floor, Watch watch)
      : measurer_(measurer), floor_(floor), watch_(std::move(watch)) {}

  // Repeats the round as often as its noise requires, or `fixed` times.
  [[nodiscard]] Result<Round> measure(std::string_view title, std::vector<NodeGroup> groups,
                                      std::optional<int> fixed = {});

  // Measures one group of these nodes.
  [[nodiscard]] Result<std::optional<double>> measure_one(std::string_view title,
                                                          const std::vector<Node>& nodes);

  // Measures the groups in as few rounds as `most_nodes` nodes of each allow.
  [[nodiscard]] Result<Round> measure_in_turns(std::string_view title,
                                               std::vector<NodeGroup> groups,
                                               std::size_t most_nodes);

  // The rate of all these nodes together. Does not count as a round.
  [[nodiscard]] Result<std::optional<double>> measure_together(const std::vector<Node>& nodes);

  [[nodiscard]] const Floor& floor() const { return floor_; }

  [[nodiscard]] int count() const { return count_; }

  [[nodiscard]] std::uint64_t operations() const { return operations_; }

 private:
  [[nodiscard]] Result<void> repeat(const std::vector<NodeGroup>& groups, int repeats,
                                    std::vector<GroupRates>& rates);

  Measurer& measurer_;
  Floor floor_;
  Watch watch_;
  int count_ = 0;
  std::uint64_t operations_ = 0;
};

}  // namespace muster::bench::locate
