// SPDX-License-Identifier: Apache-2.0
#include "bench/node/test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::node {
namespace {

std::optional<MeasurementRepeats> repeats_of(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const auto statistics = statistics_of(values);
  MeasurementRepeats repeats{.count = std::ssize(values),
                             .min = statistics.min,
                             .median = statistics.median,
                             .max = std::ranges::max(values),
                             .deviation = deviation_of(values, statistics.median)};
  if (statistics.confidence) {
    repeats.median_low = statistics.confidence->low;
    repeats.median_high = statistics.confidence->high;
  }
  return repeats;
}

DeviceValue with_noise(std::string device, const std::vector<double>& repeats, double value) {
  const double middle = median_of(repeats);
  const double noise = middle > 0 ? deviation_of(repeats, middle) / middle : 0;
  return {
      .device = std::move(device), .value = value, .noise = noise, .repeats = repeats_of(repeats)};
}

struct TestAnswer {
  MUSTER_DESCRIBED(TestAnswer);
  MUSTER_UNLESS_EMPTY(std::string, error, "why there is no result");
  MUSTER_FIELD(bool, missing, "the node has nothing of the kind") = false;
  MUSTER_FIELD(TestResult, result, "");
};

}  // namespace

DeviceValue& Series::add(std::string device, const std::vector<double>& repeats) {
  iterations = std::ssize(repeats);
  return values.emplace_back(value_of(std::move(device), repeats));
}

void TestResult::add(Series measured) {
  if (!measured.values.empty()) series.push_back(std::move(measured));
}

void TestResult::add(Matrix measured) {
  std::vector<double> values;
  for (const auto& row : measured.cells) {
    for (const auto& value : row) {
      if (value) values.push_back(*value);
    }
  }
  measured.usual = values.empty() ? 0 : median_of(std::move(values));
  matrices.push_back(std::move(measured));
}

Finding broken(std::string device, std::string message, Remedy remedy) {
  return {.device = std::move(device),
          .outcome = Outcome::fail,
          .message = std::move(message),
          .remedy = remedy};
}

Finding unjudged(std::string device, std::string message) {
  return {.device = std::move(device), .outcome = Outcome::unknown, .message = std::move(message)};
}

DeviceValue value_of(std::string device, const std::vector<double>& repeats) {
  return with_noise(std::move(device), repeats, median_of(repeats));
}

DeviceValue best_of(std::string device, const std::vector<double>& repeats) {
  return with_noise(std::move(device), repeats, std::ranges::max(repeats));
}

Matrix empty_matrix(std::string title, std::string unit, std::vector<std::string> names) {
  const std::vector<std::optional<double>> row(names.size());
  std::vector cells(names.size(), row);
  return {.title = std::move(title),
          .unit = std::move(unit),
          .names = std::move(names),
          .cells = std::move(cells)};
}

std::string to_json(const Result<TestResult>& result) {
  if (result) return to_json_line(TestAnswer{.result = *result});
  return to_json_line(
      TestAnswer{.error = result.error().message, .missing = result.error().missing});
}

Result<TestResult> parse_result(std::string_view text) {
  auto answer = from_json<TestAnswer>(text);
  if (!answer) return make_error(fmt::format("the result of a test: {}", answer.error().message));
  if (answer->error.empty()) return std::move(answer->result);
  return tl::unexpected(Error{.message = answer->error, .missing = answer->missing});
}

}  // namespace muster::bench::node
