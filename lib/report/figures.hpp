// SPDX-License-Identifier: Apache-2.0
// Pictures of a benchmark's results, for formats that can draw them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster {

// Larger matrices are not drawn, since their cells would be too small, and need no cells.
inline constexpr std::size_t kMostDrawn = 128;

// A number for each pair of `names`: bandwidth between nodes or GPUs, latency between CPUs.
struct Matrix {
  MUSTER_DESCRIBED(Matrix);
  MUSTER_FIELD(std::string, title, "");
  MUSTER_FIELD(std::string, unit, "");
  MUSTER_FIELD(std::vector<std::string>, names, "of rows and columns");
  MUSTER_FIELD(std::vector<std::vector<std::optional<double>>>, cells,
               "by row; null if not measured, 0 if it did not finish");
  MUSTER_FIELD(double, usual, "of a healthy pair") = 0;
  MUSTER_FIELD(bool, more_is_better, "") = true;
};

// The highest possible bandwidth, and how much each cause takes away from it.
struct Breakdown {
  struct Share {
    std::string what;
    double value = 0;
    bool reached = false;  // the rest, which is not a loss

    bool operator==(const Share&) const = default;
  };

  std::string title;
  std::string unit;
  std::vector<Share> parts;  // the reached one first; they add up to the maximum

  bool operator==(const Breakdown&) const = default;
};

}  // namespace muster
