// SPDX-License-Identifier: Apache-2.0
// The line at a terminal that says how far an operation is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/base/clock.hpp"

namespace muster::bench {

// How far an operation is.
struct OperationProgress {
  std::string what;         // "all_reduce of 8 GiB"
  std::string left;         // of the whole run, as "; about 40 s left"; may be empty
  std::uint64_t done = 0;   // iterations
  std::uint64_t all = 0;    // with those that warm up
  Clock::duration since{};  // the time since it began
  std::vector<int> awaited;
};

// "all_reduce of 8 GiB: 12 of 25 iterations; about 9 s left", "…; waiting for rank 5".
[[nodiscard]] std::string progress_line(const OperationProgress& progress);

// A line for somebody at a terminal, anew every second while one operation runs.
class Ticker {
 public:
  // `line` is asked at once, and then every second on a thread of its own, and `show` given it.
  Ticker(std::function<std::string(Clock::duration since)> line,
         std::function<void(std::string_view)> show);

 private:
  std::jthread thread_;
};

}  // namespace muster::bench
