// SPDX-License-Identifier: Apache-2.0
#include "bench/run/rank_context.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/base/host_name.hpp"

namespace muster::bench {

RankContext::RankContext(const BenchCommand& asked, const RunInput& from_outside, Place own_place)
    : command(asked),
      input(from_outside),
      variables(from_outside.variables),
      place(std::move(own_place)),
      emergency(place.rank),
      reporter(command, input.console, emergency) {}

std::string RankContext::name() const {
  return fmt::format("rank {} on {}", place.rank, host_name());
}

std::string RankContext::prefix() const {
  return leads() ? std::string() : fmt::format("{}: ", name());
}

void RankContext::enter(Group& group,
                        const Phase& phase_to_enter,
                        Clock::duration limit,
                        ProgressCounters counters) {
  phase.set(phase_to_enter);
  group.enter(phase_to_enter, limit, std::move(counters));
}

}  // namespace muster::bench
