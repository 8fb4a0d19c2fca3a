// SPDX-License-Identifier: Apache-2.0
// Tests a slow node from within: runs `muster-bench node` on it as a process of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/locate/culprit.hpp"
#include "bench/run/rank_context.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench::locate {

inline constexpr std::chrono::seconds kInsideBudget{60};

struct NodeTests {
  std::vector<std::string> wrong{};  // failures, then warnings, a sentence each
  std::size_t passed = 0;            // checks
  std::string trouble{};             // why nothing was tested

  bool operator==(const NodeTests&) const = default;
};

// Runs the tests that `only` names on the node of this process. The job may hold the GPUs.
[[nodiscard]] NodeTests test_inside(const RankContext& self, std::string_view only);

[[nodiscard]] std::string to_text(const NodeTests& tests);
[[nodiscard]] NodeTests parse_node_tests(std::string_view text);

void add_evidence(const NodeTests& tests, Culprit& culprit);

}  // namespace muster::bench::locate
