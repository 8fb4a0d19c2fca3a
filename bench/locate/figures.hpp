// SPDX-License-Identifier: Apache-2.0
// What a search measured, as pictures of its report.
#pragma once

#include <optional>

#include "bench/locate/culprit.hpp"
#include "bench/locate/rule.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/figures.hpp"

namespace muster::bench::locate {

// What each pair reached, the lowest where it was measured more than once. Nothing where no scale
// is known.
[[nodiscard]] std::optional<Matrix> matrix_of(const Search& search, const Nodes& nodes);

// Why a job over all nodes does not reach what its HCAs could carry: what it reaches is what its
// slowest part does, and each culprit takes away what the next one would leave. Nothing where
// nothing was measured, or where some pair does not finish.
[[nodiscard]] std::optional<Breakdown> breakdown_of(const Search& search,
                                                    const Nodes& nodes,
                                                    const Rule& rule,
                                                    const Profile& profile);

}  // namespace muster::bench::locate
