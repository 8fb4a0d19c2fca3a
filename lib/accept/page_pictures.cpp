// SPDX-License-Identifier: Apache-2.0
#include "lib/accept/page_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::accept {
namespace {

using Json = nlohmann::ordered_json;

std::string with_unit(double value, const std::string& unit) {
  return fmt::format("{}{}{}", number_text(value), unit.empty() ? "" : " ", unit);
}

// Returns a step of 1, 2 or 5 times a power of ten, so that about four steps make `most`.
double step_of(double most) {
  const double power = std::pow(10, std::floor(std::log10(most / 4)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (most / (factor * power) <= 5) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string number_text(double value) {
  const double size = std::abs(value);
  const int digits = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : 2;
  return size > 0 && size < 0.01 ? fmt::format("{:.1e}", value)
                                 : fmt::format("{:.{}f}", value, digits);
}

bool is_beyond(const DeliveryQuantity& quantity, double value) {
  if (!quantity.limit) return false;
  return quantity.more_is_better ? value < *quantity.limit : value > *quantity.limit;
}

Json strip_of(const Delivery& delivery, std::size_t place) {
  constexpr double kWidth = 300, kLeft = 6;
  constexpr int kRows = 5;
  const auto& quantity = delivery.quantities[place];
  std::vector<std::pair<double, const NodeRow*>> values;
  for (const auto& row : delivery.nodes) {
    if (row.values[place]) values.emplace_back(*row.values[place], &row);
  }
  if (values.empty()) return {};
  std::ranges::sort(values);
  auto low = values.front().first;
  auto high = values.back().first;
  for (const auto& limit : {quantity.limit, quantity.fleet_limit}) {
    if (limit) std::tie(low, high) = std::pair(std::min(low, *limit), std::max(high, *limit));
  }
  if (high <= low) std::tie(low, high) = std::pair(low - 1, high + 1);
  const auto x_of = [&](double value) {
    return std::round(2 * (kLeft + (kWidth - 2 * kLeft) * (value - low) / (high - low))) / 2;
  };
  std::string dots;
  std::set<std::pair<double, int>> drawn;
  auto crosses = Json::array();
  int row = 0;
  for (const auto& [value, node] : values) {
    const double x = x_of(value);
    const int y = 5 + 4 * (row = (row + 3) % kRows);
    if (is_beyond(quantity, value)) {
      crosses.push_back(
          {{"d", fmt::format("M{} {}l8 8m0 -8l-8 8", x - 4, y - 4)},
           {"title", fmt::format("{}: {}", node->node, with_unit(value, quantity.unit))}});
    } else if (drawn.emplace(x, y).second) {
      dots += fmt::format("M{} {}h0", x, y);
    }
  }
  const auto line = [&](const std::optional<double>& limit) {
    return limit ? Json(fmt::format("{}", x_of(*limit))) : Json();
  };
  const auto median = values[values.size() / 2].first;
  const auto& [worst, worst_node] = quantity.more_is_better ? values.front() : values.back();
  return {{"dots", dots},
          {"crosses", std::move(crosses)},
          {"limit_x", line(quantity.limit)},
          {"fleet_x", line(quantity.fleet_limit)},
          {"nodes", counted(values.size(), "node")},
          {"median", number_text(median)},
          {"worst", number_text(worst)},
          {"worst_node", worst_node->node}};
}

Json bars_of(const std::vector<Bar>& bars, const std::string& unit,
             const std::optional<double>& limit) {
  constexpr double kLeft = 40, kRight = 416, kTop = 12, kBottom = 130;
  double most = limit.value_or(0);
  for (const auto& bar : bars) most = std::max(most, bar.value);
  if (bars.empty() || most <= 0) return {};
  const double step = unit.empty() ? std::max(1.0, step_of(most)) : step_of(most);
  most *= 1.05;
  const auto y_of = [&](double value) { return kBottom - (kBottom - kTop) * value / most; };
  const double width = (kRight - kLeft) / static_cast<double>(bars.size());
  Json chart{
      {"unit", unit}, {"scale", Json::array()}, {"labels", Json::array()}, {"limit", nullptr}};
  for (double value = 0; value <= most; value += step) {
    chart["scale"].push_back(
        {{"y", fmt::format("{:.1f}", y_of(value))}, {"text", fmt::format("{:g}", value)}});
  }
  std::string good, bad, crosses;
  const auto every = (bars.size() + 5) / 6;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double x = kLeft + width * static_cast<double>(i);
    const double y = y_of(bars[i].value);
    auto& path = bars[i].bad ? bad : good;
    path += fmt::format("M{:.1f} {}V{:.1f}h{:.1f}V{}z", x + 0.1 * width, kBottom, y, 0.8 * width,
                        kBottom);
    if (bars[i].bad)
      crosses += fmt::format("M{:.1f} {:.1f}l6 6m0 -6l-6 6", x + width / 2 - 3, y - 8);
    if (i % every == 0) {
      chart["labels"].push_back(
          {{"x", fmt::format("{:.1f}", x + width / 2)}, {"text", bars[i].label}});
    }
  }
  chart["good"] = good;
  chart["bad"] = bad;
  chart["crosses"] = crosses;
  if (limit) {
    chart["limit"] = {{"y", fmt::format("{:.1f}", y_of(*limit))},
                      {"text", with_unit(*limit, unit)}};
  }
  return chart;
}

Json pairs_of(const Matrix& matrix) {
  constexpr std::array kClasses{std::pair(0.97, "as usual"), std::pair(0.87, "a little less"),
                                std::pair(0.0, "slow, or it did not finish")};
  constexpr std::array kSizes{0.45, 0.7, 1.0};
  constexpr double kCell = 14, kLetter = 0.45;  // pixels per cell; width of a letter in cells
  constexpr std::size_t kMaxListed = 20;
  const auto count = matrix.names.size();
  if (matrix.cells.size() != count || matrix.usual <= 0) return {};
  std::size_t longest = 0;
  for (const auto& name : matrix.names) longest = std::max(longest, name.size());
  const double label = kLetter * static_cast<double>(longest) + 0.5;
  const double width = label + static_cast<double>(count);
  std::array<std::string, kClasses.size()> paths;
  Json picture{{"title", matrix.title}, {"slow", Json::array()}};
  std::size_t measured = 0;
  for (std::size_t row = 0; row < count; ++row) {
    const auto y = label + static_cast<double>(row);
    picture["rows"].push_back(
        {{"name", matrix.names[row]}, {"y", fmt::format("{:.2f}", y + 0.75)}});
    for (std::size_t column = 0; column < std::min(count, matrix.cells[row].size()); ++column) {
      const auto& value = matrix.cells[row][column];
      if (!value || row == column) continue;
      ++measured;
      const double share = *value <= 0             ? 0
                           : matrix.more_is_better ? *value / matrix.usual
                                                   : matrix.usual / *value;
      const auto kind = static_cast<std::size_t>(
          std::ranges::find_if(kClasses, [&](auto& each) { return share >= each.first; }) -
          kClasses.begin());
      const double size = kSizes.at(kind);
      paths.at(kind) += fmt::format("M{:.4g} {:.4g}h{}v{}h-{}z",
                                    label + static_cast<double>(column) + (1 - size) / 2,
                                    y + (1 - size) / 2, size, size, size);
      const bool again = column < matrix.cells.size() && row < matrix.cells[column].size() &&
                         matrix.cells[column][row] && column < row;
      if (kind + 1 < kClasses.size() || again || picture["slow"].size() >= kMaxListed) continue;
      picture["slow"].push_back(
          {{"text", fmt::format("{} and {}: {}", matrix.names[row], matrix.names[column],
                                *value > 0 ? with_unit(*value, matrix.unit) : "did not finish")}});
    }
  }
  if (measured == 0) return {};
  picture["usual"] = with_unit(matrix.usual, matrix.unit);
  picture["size"] = fmt::format("{:.1f}", width);
  picture["pixels"] = fmt::format("{:.0f}", kCell * width);
  picture["label"] = fmt::format("{:.2f}", label);
  picture["top"] = fmt::format("{:.2f}", label - 0.3);
  picture["cells"] = std::to_string(count);
  for (std::size_t kind = 0; kind < kClasses.size(); ++kind) {
    picture["kinds"].push_back({{"class", fmt::format("k{}", kind)},
                                {"path", paths.at(kind)},
                                {"text", kClasses.at(kind).second}});
  }
  return picture;
}

}  // namespace muster::accept
