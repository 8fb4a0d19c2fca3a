// SPDX-License-Identifier: Apache-2.0
// A slow node tested from within: `muster-bench node` on it, as a process of its own.
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

// What a node's own tests say.
struct Inside {
  std::vector<std::string> wrong;  // what fails, then what warns, a sentence each
  std::size_t passed = 0;          // checks
  std::string trouble;             // why nothing was tested; else empty

  bool operator==(const Inside&) const = default;
};

// Runs those of the tests that `only` names, on the node of this process and for the budget at
// most. The GPUs may be held by this job.
[[nodiscard]] Inside test_inside(const RankContext& self, std::string_view only);

[[nodiscard]] std::string to_text(const Inside& inside);
// Nothing but trouble where the text is not whole.
[[nodiscard]] Inside inside_in(std::string_view text);

// Adds to what is known of a slow node.
void add_evidence(const Inside& inside, Culprit& culprit);

}  // namespace muster::bench::locate
