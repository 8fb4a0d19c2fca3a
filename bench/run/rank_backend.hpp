// SPDX-License-Identifier: Apache-2.0
// A rank's back end, among all ranks that have met or among those of its part. Every rank calls the
// same of these in the same order.
#pragma once

#include <memory>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/run/meeting.hpp"
#include "bench/run/rank_context.hpp"
#include "bench/run/split.hpp"

namespace muster::bench {

[[nodiscard]] Result<std::unique_ptr<Backend>> make_whole_backend(RankContext& self, Met& met);

[[nodiscard]] Result<std::unique_ptr<Backend>> make_part_backend(
    RankContext& self, Met& met, const std::vector<RankPart>& parts);

// Where each rank is.
[[nodiscard]] std::vector<RankPlace> places_of(const Agreement& agreed);

}  // namespace muster::bench
