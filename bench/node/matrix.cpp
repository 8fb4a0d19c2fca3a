// SPDX-License-Identifier: Apache-2.0
#include "bench/node/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/results/statistics.hpp"

namespace muster::bench::node {
namespace {

std::string cell(const std::optional<double>& value) {
  if (!value) return "-";
  return *value < 100 ? fmt::format("{:.1f}", *value) : fmt::format("{:.0f}", *value);
}

}  // namespace

Matrix empty_matrix(std::string title, std::string unit, std::vector<std::string> names) {
  const std::vector<std::optional<double>> row(names.size());
  std::vector cells(names.size(), row);
  return {.title = std::move(title),
          .unit = std::move(unit),
          .names = std::move(names),
          .cells = std::move(cells)};
}

Matrix with_usual(Matrix matrix) {
  std::vector<double> values;
  for (const auto& row : matrix.cells) {
    for (const auto& value : row) {
      if (value) values.push_back(*value);
    }
  }
  matrix.usual = values.empty() ? 0 : median_of(std::move(values));
  return matrix;
}

std::vector<std::string> lines_of(const Matrix& matrix) {
  std::size_t width = 5;
  for (const auto& name : matrix.names) width = std::max(width, name.size());
  std::vector<std::string> lines{matrix.title};
  auto& header = lines.emplace_back(fmt::format("{:{}}", "", width));
  for (const auto& name : matrix.names) header += fmt::format(" {:>{}}", name, width);
  for (std::size_t row = 0; row < matrix.names.size(); ++row) {
    auto& line = lines.emplace_back(fmt::format("{:{}}", matrix.names[row], width));
    for (const auto& value : matrix.cells[row]) line += fmt::format(" {:>{}}", cell(value), width);
  }
  return lines;
}

}  // namespace muster::bench::node
