// SPDX-License-Identifier: Apache-2.0
// The metrics of simulated nodes.
#pragma once

#include <cstddef>

#include "tests/e2e/harness.hpp"

namespace muster::e2e {

struct SeriesCounts {
  std::size_t own = 0;
  std::size_t all = 0;
};

[[nodiscard]] SeriesCounts count_series(const Examination& seen);

// Expects that distances from limits agree with the findings, and few series.
void expect_sound_metrics(const Examination& seen);

}  // namespace muster::e2e
