// SPDX-License-Identifier: Apache-2.0
// The result of a node's test as text, and back.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "bench/node/test.hpp"
#include "lib/base/json.hpp"

// Null where there is no value.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(nlohmann::json& json, const std::optional<T>& value) {
    json = value ? nlohmann::json(*value) : nlohmann::json();
  }

  static void from_json(const nlohmann::json& json, std::optional<T>& value) {
    value = json.is_null() ? std::nullopt : std::optional(json.get<T>());
  }
};

namespace muster {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Finding, device, outcome, message, remedy)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasurementRepeats, count, min, median, max, deviation,
                                   median_low, median_high)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Matrix, title, unit, names, cells, usual, more_is_better)

}  // namespace muster

namespace muster::bench::node {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceValue, device, value, noise, group, repeats)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Series, what, quantity, unit, less_is_better, limited, tolerance,
                                   size_bytes, iterations, values)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TestResult, series, findings, lines, matrices)

std::string to_json(const Result<TestResult>& result) {
  if (result) return json_line(*result);
  return json_line({{"error", result.error().message}, {"missing", result.error().missing}});
}

Result<TestResult> parse_result(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return make_error(fmt::format("the result of a test: {}", json.error().message));
  try {
    if (!json->contains("error")) return json->get<TestResult>();
    return tl::unexpected<Error>(Error{.message = json->at("error").get<std::string>(),
                                       .missing = json->at("missing").get<bool>()});
  } catch (const nlohmann::json::exception& error) {
    return make_error(fmt::format("the result of a test: {}", error.what()));
  }
}

}  // namespace muster::bench::node
