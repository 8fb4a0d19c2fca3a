// SPDX-License-Identifier: Apache-2.0
// The pictures of the HTML page, as data for its template.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include "lib/base/quantity.hpp"
#include "lib/report/bench_checks.hpp"
#include "lib/report/formats/page.hpp"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

// From red at 60% of the usual value to green at 97% of it.
std::string colour_of(double share) {
  struct Stop {
    double at;
    std::array<double, 3> rgb;
  };

  constexpr std::array<Stop, 3> kStops{Stop{0.6, {198, 40, 40}}, Stop{0.87, {249, 168, 37}},
                                       Stop{0.97, {67, 160, 71}}};
  share = std::clamp(share, kStops.front().at, kStops.back().at);
  const auto& low = share < kStops[1].at ? kStops[0] : kStops[1];
  const auto& high = share < kStops[1].at ? kStops[1] : kStops[2];
  const double position = (share - low.at) / (high.at - low.at);
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    rgb.at(i) = static_cast<int>(std::lround(std::lerp(low.rgb.at(i), high.rgb.at(i), position)));
  }
  return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

constexpr std::string_view kUnfinished = "#222";
constexpr std::string_view kUnmeasured = "#8883";

std::string number(double value) { return fmt::format("{:.4g}", value); }

// A square for each pair but the diagonal.
Json row_of(const Matrix& matrix, std::size_t row, double left, double top) {
  auto cells = Json::array();
  for (std::size_t column = 0; column < matrix.names.size(); ++column) {
    if (column == row) continue;
    const auto& value = matrix.cells[row][column];
    const bool finished = value && *value > 0;
    const double share = !finished               ? 0
                         : matrix.more_is_better ? *value / matrix.usual
                                                 : matrix.usual / *value;
    cells.push_back({{"x", fmt::format("{:.1f}", left + static_cast<double>(column))},
                     {"y", fmt::format("{:.1f}", top + static_cast<double>(row))},
                     {"colour", !value     ? std::string(kUnmeasured)
                                : finished ? colour_of(share)
                                           : std::string(kUnfinished)},
                     {"row", matrix.names[row]},
                     {"column", matrix.names[column]},
                     {"value", !value     ? "not measured"
                               : finished ? fmt::format("{} {}", number(*value), matrix.unit)
                                          : "did not finish"}});
  }
  return {{"name", matrix.names[row]},
          {"y", fmt::format("{:.2f}", top + static_cast<double>(row) + 0.72)},
          {"cells", std::move(cells)}};
}

// The colours of a matrix: from the usual value to 60% of it, and for cells without a value.
Json legend_of(const Matrix& matrix) {
  auto legend = Json::array();
  for (const auto& [share, word] : {std::pair(0.97, "near or above "), {0.87, ""}, {0.6, ""}}) {
    const double value = matrix.more_is_better ? matrix.usual * share : matrix.usual / share;
    const std::string_view end = share > 0.6 ? "" : matrix.more_is_better ? " or less" : " or more";
    legend.push_back(
        {{"colour", colour_of(share)},
         {"text", share > 0.9 ? fmt::format("{} {}, as usual", number(matrix.usual), matrix.unit)
                              : fmt::format("{}{} {}{}", word, number(value), matrix.unit, end)}});
  }
  legend.push_back({{"colour", kUnfinished}, {"text", "did not finish"}});
  legend.push_back({{"colour", kUnmeasured}, {"text", "not measured"}});
  return legend;
}

Json picture_of(const Matrix& matrix) {
  constexpr double kLetter = 0.42;  // the width of a letter, in cells
  constexpr double kCell = 20;      // pixels, so that names can be read; wide pictures scroll
  const auto count = matrix.names.size();
  Json picture{{"title", matrix.title}, {"unit", matrix.unit}, {"too_many", nullptr}};
  if (count > kMaxDrawnNames) {
    picture["too_many"] = count;
    return picture;
  }
  std::size_t longest = 0;
  for (const auto& name : matrix.names) longest = std::max(longest, name.size());
  const double label = kLetter * static_cast<double>(longest) + 0.4;
  const double width = label + static_cast<double>(count);
  picture["width"] = picture["height"] = fmt::format("{:.1f}", width);
  picture["pixels"] = fmt::format("{:.0f}", kCell * width);
  picture["legend"] = legend_of(matrix);
  for (std::size_t i = 0; i < count; ++i) {
    picture["columns"].push_back(
        {{"name", matrix.names[i]},
         {"x", fmt::format("{:.2f}", label + static_cast<double>(i) + 0.72)},
         {"y", fmt::format("{:.2f}", label - 0.2)}});
    picture["rows"].push_back(row_of(matrix, i, label, label));
  }
  return picture;
}

// A bar with a part for each cause.
Json picture_of(const Breakdown& breakdown) {
  constexpr std::array<std::string_view, 6> kLosses{"#c62828", "#ef6c00", "#f9a825",
                                                    "#8d6e63", "#7b3fa0", "#546e7a"};
  auto parts = Json::array();
  std::size_t losses = 0;
  for (const auto& part : breakdown.parts) {
    if (part.value <= 0) continue;
    parts.push_back({{"what", part.what},
                     {"share", fmt::format("{:.3f}", part.value)},
                     {"value", fmt::format("{:.4g}", part.value)},
                     {"colour", part.reached ? "#43a047" : kLosses.at(losses++ % kLosses.size())}});
  }
  return {{"title", breakdown.title}, {"unit", breakdown.unit}, {"parts", std::move(parts)}};
}

// The bandwidths of one collective, type and part: by size, for each placement.
struct SizeSeries {
  std::string title, unit, collective;
  std::map<std::int64_t, std::map<std::string, std::vector<double>>> values;
  std::vector<const Measurement*> measurements;
};

// Only series of several sizes are drawn.
std::vector<SizeSeries> series_of(const Report& report) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, SizeSeries> all;
  for (const auto& each : report.measurements) {
    const auto& on = each.conditions;
    if (each.quantity != "busbw" || on.size_bytes <= 0 || !on.test.empty()) continue;
    auto& series = all[{on.collective, on.type, on.reduction, on.device}];
    std::vector<std::string> words{on.collective, on.type};
    for (const auto& word : {on.reduction, on.device}) {
      if (!word.empty()) words.push_back(word);
    }
    series.title = fmt::format("Bus bandwidth of {}, {} ranks by {}", fmt::join(words, ", "),
                               on.ranks, on.library);
    series.unit = each.unit;
    series.collective = on.collective;
    series.values[on.size_bytes][on.placement].push_back(each.value);
    series.measurements.push_back(&each);
  }
  std::vector<SizeSeries> several;
  for (auto& [key, series] : all) {
    if (series.values.size() > 1) several.push_back(std::move(series));
  }
  return several;
}

// The check that judges a series, and its limit.
const Finding* judge_of(const SizeSeries& series, const Report& report) {
  const auto found = std::ranges::find_if(report.findings, [&](const Finding& each) {
    const bool is_bandwidth =
        std::ranges::find(kBandwidthChecks, each.check) != kBandwidthChecks.end();
    return is_bandwidth && (each.check == "bench.min_busbw" ||
                            each.check.ends_with(fmt::format("_{}", series.collective)));
  });
  return found == report.findings.end() ? nullptr : &*found;
}

double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

constexpr double kLeft = 44, kRight = 392, kTop = 10, kBottom = 172;  // of the plot

// Four lines or so, at 1, 2 or 5 times a power of ten.
Json scale_of(double most) {
  const double power = std::pow(10, std::floor(std::log10(most / 4)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0}) {
    if (most / step > 5) step = factor * power;
  }
  auto lines = Json::array();
  for (double value = 0; value <= most; value += step) {
    lines.push_back({{"y", fmt::format("{:.1f}", kBottom - (kBottom - kTop) * value / most)},
                     {"text", number(value)}});
  }
  return lines;
}

Json sizes_of(const SizeSeries& series, double step) {
  constexpr std::size_t kMax = 5;
  const auto every = (series.values.size() + kMax - 1) / kMax;
  auto sizes = Json::array();
  std::size_t at = 0;
  for (const auto& [bytes, values] : series.values) {
    if (at % every == 0) {
      sizes.push_back({{"x", fmt::format("{:.1f}", kLeft + step * static_cast<double>(at))},
                       {"text", to_string(Bytes{static_cast<double>(bytes)})}});
    }
    ++at;
  }
  return sizes;
}

Json chart_of(const SizeSeries& series, const Finding* judge) {
  constexpr double kRoom = 1.08;
  constexpr std::array kPlacements{std::tuple("out_of_place", "out of place", "#1565c0"),
                                   std::tuple("in_place", "in place", "#2e7d32")};
  const auto* const limit = judge == nullptr ? nullptr : std::get_if<double>(&judge->limit);
  double most = limit == nullptr ? 0 : *limit;
  for (const auto* each : series.measurements) most = std::max(most, each->value);
  most = std::max(most * kRoom, 1e-9);
  const double step = (kRight - kLeft) / static_cast<double>(series.values.size() - 1);
  const auto y_of = [&](double value) { return kBottom - (kBottom - kTop) * value / most; };
  Json chart{{"title", series.title},           {"unit", series.unit},    {"scale", scale_of(most)},
             {"sizes", sizes_of(series, step)}, {"lines", Json::array()}, {"rows", Json::array()}};
  for (const auto& [bytes, values] : series.values) {
    chart["rows"].push_back(
        {{"size", to_string(Bytes{static_cast<double>(bytes)})}, {"values", Json::array()}});
  }
  for (const auto& [placement, name, colour] : kPlacements) {
    std::string points;
    std::size_t at = 0;
    for (const auto& [bytes, values] : series.values) {
      const auto found = values.find(placement);
      const bool known = found != values.end();
      const double value = known ? middle_of(found->second) : 0;
      if (known) {
        points +=
            fmt::format("{:.1f},{:.1f} ", kLeft + step * static_cast<double>(at), y_of(value));
      }
      chart["rows"][at++]["values"].push_back(
          known ? fmt::format(fmt::runtime(value < 0.01 ? "{:.2g}" : "{:.2f}"), value) : "-");
    }
    if (points.empty()) {
      for (auto& row : chart["rows"]) row["values"].erase(row["values"].size() - 1);
    } else {
      chart["lines"].push_back({{"name", name}, {"colour", colour}, {"points", points}});
    }
  }
  if (limit != nullptr) {
    chart["limit"] = {{"y", fmt::format("{:.1f}", y_of(*limit))},
                      {"text", fmt::format("{} {}", number(*limit), series.unit)}};
  }
  return chart;
}

}  // namespace

Pictures pictures_of(const Report& report) {
  Pictures pictures;
  std::size_t count = 0;
  const auto add = [&](const char* kind, Json picture, const std::string& check) {
    const auto id = fmt::format("picture-{}", ++count);
    picture["id"] = id;
    pictures.data[kind].push_back(std::move(picture));
    if (!check.empty()) pictures.by_check.try_emplace(check, id);
  };
  for (const auto& each : report.matrices) add("matrices", picture_of(each), each.check);
  for (const auto& each : report.breakdowns) add("breakdowns", picture_of(each), each.check);
  for (const auto& series : series_of(report)) {
    const auto* const judge = judge_of(series, report);
    pictures.drawn.insert(series.measurements.begin(), series.measurements.end());
    add("charts", chart_of(series, judge), judge == nullptr ? "" : judge->check);
  }
  return pictures;
}

}  // namespace muster
