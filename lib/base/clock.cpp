// SPDX-License-Identifier: Apache-2.0
#include "lib/base/clock.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>

namespace muster {

Clock::duration to_duration(Seconds seconds) {
  constexpr double kForever = 1e9;  // what is longer would overflow
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds.value, kForever)));
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace muster
