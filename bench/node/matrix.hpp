// SPDX-License-Identifier: Apache-2.0
// A table of numbers between devices, as text.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace muster::bench::node {

inline constexpr double kNoCell = -1;  // there is no number; shown as "-"

struct Matrix {
  std::string title;
  std::vector<std::string> names;            // of rows and columns
  std::vector<std::vector<double>> cells{};  // by row
};

// The title, the names of the columns, and a line for each row.
[[nodiscard]] std::vector<std::string> lines_of(const Matrix& matrix);

}  // namespace muster::bench::node
