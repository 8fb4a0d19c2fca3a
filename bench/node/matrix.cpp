// SPDX-License-Identifier: Apache-2.0
#include "bench/node/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace muster::bench::node {
namespace {

std::string cell(double value) {
  if (value < 0) return "-";
  return value < 100 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

}  // namespace

std::vector<std::string> lines_of(const Matrix& matrix) {
  std::size_t width = 5;
  for (const auto& name : matrix.names) width = std::max(width, name.size());
  std::vector<std::string> lines{matrix.title};
  auto& header = lines.emplace_back(fmt::format("{:{}}", "", width));
  for (const auto& name : matrix.names) header += fmt::format(" {:>{}}", name, width);
  for (std::size_t row = 0; row < matrix.names.size(); ++row) {
    auto& line = lines.emplace_back(fmt::format("{:{}}", matrix.names[row], width));
    for (const double value : matrix.cells[row]) line += fmt::format(" {:>{}}", cell(value), width);
  }
  return lines;
}

}  // namespace muster::bench::node
