// SPDX-License-Identifier: Apache-2.0
// Pictures of what a benchmark measured: a number for each two of several things, and where a
// bandwidth went. Formats that draw show them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster {

// A matrix of more names is not drawn, since its pairs could not be told apart, and may be without
// cells.
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

// What a bandwidth could be at most, and what each cause takes away from it.
struct Breakdown {
  struct Part {
    std::string what;
    double value = 0;
    bool reached = false;  // what is left, and no loss

    bool operator==(const Part&) const = default;
  };

  std::string title;
  std::string unit;
  std::vector<Part> parts;  // what was reached first; together they are the most there could be

  bool operator==(const Breakdown&) const = default;
};

}  // namespace muster
