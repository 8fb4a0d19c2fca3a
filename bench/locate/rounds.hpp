// SPDX-License-Identifier: Apache-2.0
// Measures round after round, and repeats each one until its noise is small enough to tell a slow
// group from a healthy one.
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
  std::vector<Group> groups;
  std::vector<std::optional<double>> gbps;  // the median of each group; empty: it did not finish
  double noise = 0;                         // the deviation of such a median, as a share

  [[nodiscard]] std::size_t size() const { return groups.size(); }
};

// The medians of those groups that finished, from the group with index `from` on.
[[nodiscard]] std::vector<double> finished(const Round& round, std::size_t from = 0);

// The scale of the groups from index `from` on, with at least the deviation of `usual`; where they
// are too few, `usual`.
[[nodiscard]] Scale scale_from(const Round& round, std::size_t from, const Scale& usual,
                               const Rule& rule);

class Rounds {
 public:
  using Watch = std::function<void(const std::string& title, std::size_t groups)>;

  Rounds(Measurer& measurer, const Rule& rule, Watch watch)
      : measurer_(measurer), rule_(rule), watch_(std::move(watch)) {}

  // Repeats the round as often as the noise needs, or `fixed` times.
  [[nodiscard]] Result<Round> measure(std::string_view title, std::vector<Group> groups,
                                      std::optional<int> fixed = {});

  // One group of these nodes.
  [[nodiscard]] Result<std::optional<double>> measure_one(std::string_view title,
                                                          const std::vector<Node>& nodes);

  // Measures the groups in one round where no more than `most_nodes` work in it, else turn after
  // turn.
  [[nodiscard]] Result<Round> measure_in_turns(std::string_view title, std::vector<Group> groups,
                                               std::size_t most_nodes);

  // What they reach all together; empty where they do not finish. No round, since nobody is
  // compared.
  [[nodiscard]] Result<std::optional<double>> together(const std::vector<Node>& nodes);

  [[nodiscard]] const Rule& rule() const { return rule_; }

  [[nodiscard]] int count() const { return count_; }

  [[nodiscard]] std::uint64_t operations() const { return operations_; }

 private:
  [[nodiscard]] Result<void> add(const std::vector<Group>& groups, int repeats,
                                 std::vector<Answer>& answers);

  Measurer& measurer_;
  const Rule& rule_;
  Watch watch_;
  int count_ = 0;
  std::uint64_t operations_ = 0;
};

}  // namespace muster::bench::locate
