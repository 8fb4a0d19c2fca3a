// SPDX-License-Identifier: Apache-2.0
// The answers of the nodes of a simulated fleet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "accept/fleet.hpp"
#include "accept/sim_words.hpp"

namespace muster::accept::sim {

// The history of a node. Its next answer depends on this, not on the time.
struct NodeHistory {
  std::array<std::int64_t, kStageWords.size()> answered{};  // by stage
  double loaded_s = 0;                                      // under load, in all soaks
  int losses = 0;
  std::int64_t lost_at = 0;  // Unix time; 0 if it has answered since
};

// Returns a deterministic normally distributed number for `place`, with a standard deviation of 1.
[[nodiscard]] double normal_at(std::uint64_t place);

// Judges the findings. Keeps passes, like --verbose.
void finish_report(Report& report, std::string_view profile, std::int64_t ended, double seconds,
                   const std::vector<std::string>& checks);

class SimNodes {
 public:
  SimNodes(const Order& order, const FleetWords& words) : order_(&order), words_(&words) {}

  [[nodiscard]] std::int64_t seconds_of(std::size_t node, Stage stage) const;
  // Whether the node is lost before the step ends.
  [[nodiscard]] bool is_lost(std::size_t node, Stage stage, const NodeHistory& history) const;
  // `at` is when the step ends.
  [[nodiscard]] StepAnswer answer(std::size_t node, Stage stage, const NodeHistory& history,
                                  std::int64_t at) const;

 private:
  [[nodiscard]] std::uint64_t place(std::size_t node, std::uint64_t which) const;
  [[nodiscard]] std::string hex(std::size_t node, std::uint64_t which, int digits) const;
  [[nodiscard]] std::string serial_of(std::size_t node, int gpu) const;
  void identify(std::size_t node, StepAnswer& answer) const;
  // Times are seconds under load, not Unix times, because XIDs happen after hours of load.
  [[nodiscard]] std::vector<int> xids_between(std::size_t node, double from_s, double to_s) const;
  [[nodiscard]] double factor_of(std::size_t node, std::string_view check, Stage stage,
                                 int device) const;
  [[nodiscard]] Report check_report(std::size_t node, Stage stage, const NodeHistory& history,
                                    StepAnswer& answer) const;
  [[nodiscard]] Report bench_report(std::size_t node, Stage stage, const NodeHistory& history,
                                    const StepAnswer& answer) const;

  const Order* order_;
  const FleetWords* words_;
};

}  // namespace muster::accept::sim
