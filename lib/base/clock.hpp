// SPDX-License-Identifier: Apache-2.0
// Times of profiles and command lines as the clock counts them, and the wall clock as a label.
#pragma once

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>

#include "lib/base/quantity.hpp"

namespace muster {

[[nodiscard]] inline std::chrono::steady_clock::duration to_duration(Seconds seconds) {
  constexpr double kForever = 1e9;  // what is longer would overflow
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::min(seconds.value, kForever)));
}

// RFC 3339. Nothing is judged by it.
[[nodiscard]] inline std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace muster
