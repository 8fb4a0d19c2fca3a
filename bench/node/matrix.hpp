// SPDX-License-Identifier: Apache-2.0
// Tables of numbers between the devices of a node.
#pragma once

#include <string>
#include <vector>

#include "lib/report/figures.hpp"

namespace muster::bench::node {

// With a row and a column for each name, and no number yet. The title says the unit.
[[nodiscard]] Matrix empty_matrix(std::string title,
                                  std::string unit,
                                  std::vector<std::string> names);

// The same with what is usual among its numbers: their median.
[[nodiscard]] Matrix with_usual(Matrix matrix);

// The title, the names of the columns, and a line for each row; "-" where there is no number.
[[nodiscard]] std::vector<std::string> lines_of(const Matrix& matrix);

}  // namespace muster::bench::node
