// SPDX-License-Identifier: Apache-2.0
#include "bench/node/result_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace muster {

inline void to_json(nlohmann::json& json, const Finding& finding) {
  json = {{"check", finding.check},
          {"device", finding.device},
          {"outcome", to_string(finding.outcome)},
          {"message", finding.message},
          {"remedy", to_string(finding.remedy)}};
}

inline void from_json(const nlohmann::json& json, Finding& finding) {
  json.at("check").get_to(finding.check);
  json.at("device").get_to(finding.device);
  json.at("message").get_to(finding.message);
  finding.outcome = parse_outcome(json.at("outcome").get<std::string>()).value_or(Outcome::unknown);
  finding.remedy = parse_remedy(json.at("remedy").get<std::string>()).value_or(Remedy::none);
}

inline void to_json(nlohmann::json& json, const MeasurementRepeats& repeats) {
  json = {{"count", repeats.count},
          {"min", repeats.min},
          {"median", repeats.median},
          {"max", repeats.max},
          {"deviation", repeats.deviation}};
  if (repeats.median_low) json["median_low"] = *repeats.median_low;
  if (repeats.median_high) json["median_high"] = *repeats.median_high;
}

inline void from_json(const nlohmann::json& json, MeasurementRepeats& repeats) {
  json.at("count").get_to(repeats.count);
  json.at("min").get_to(repeats.min);
  json.at("median").get_to(repeats.median);
  json.at("max").get_to(repeats.max);
  json.at("deviation").get_to(repeats.deviation);
  if (json.contains("median_low")) repeats.median_low = json["median_low"].get<double>();
  if (json.contains("median_high")) repeats.median_high = json["median_high"].get<double>();
}

inline void to_json(nlohmann::json& json, const Matrix& matrix) {
  auto rows = nlohmann::json::array();
  for (const auto& row : matrix.cells) {
    auto& cells = rows.emplace_back(nlohmann::json::array());
    for (const auto& cell : row) cells.push_back(cell ? nlohmann::json(*cell) : nlohmann::json());
  }
  json = {{"title", matrix.title},
          {"unit", matrix.unit},
          {"names", matrix.names},
          {"cells", std::move(rows)},
          {"usual", matrix.usual},
          {"more_is_better", matrix.more_is_better}};
}

inline void from_json(const nlohmann::json& json, Matrix& matrix) {
  json.at("title").get_to(matrix.title);
  json.at("unit").get_to(matrix.unit);
  json.at("names").get_to(matrix.names);
  json.at("usual").get_to(matrix.usual);
  json.at("more_is_better").get_to(matrix.more_is_better);
  for (const auto& row : json.at("cells")) {
    auto& cells = matrix.cells.emplace_back();
    for (const auto& cell : row) {
      cells.push_back(cell.is_null() ? std::nullopt : std::optional(cell.get<double>()));
    }
  }
}

}  // namespace muster

namespace muster::bench::node {

inline void to_json(nlohmann::json& json, const DeviceValue& value) {
  json = {{"device", value.device},
          {"value", value.value},
          {"noise", value.noise},
          {"group", value.group}};
  if (value.repeats) json["repeats"] = *value.repeats;
}

inline void from_json(const nlohmann::json& json, DeviceValue& value) {
  json.at("device").get_to(value.device);
  json.at("value").get_to(value.value);
  json.at("noise").get_to(value.noise);
  json.at("group").get_to(value.group);
  if (const auto found = json.find("repeats"); found != json.end()) {
    value.repeats = found->get<MeasurementRepeats>();
  }
}

// cppcheck-suppress unknownMacro ; nlohmann's
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Series,
                                   check,
                                   what,
                                   quantity,
                                   unit,
                                   less_is_better,
                                   limited,
                                   tolerance,
                                   size_bytes,
                                   iterations,
                                   values)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TestResult, series, findings, lines, matrices)

std::string to_json(const Result<TestResult>& result) {
  const auto json = result ? nlohmann::json(*result)
                           : nlohmann::json{{"error", result.error().message},
                                            {"missing", result.error().missing}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<TestResult> parse_result(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    if (!json.contains("error")) return json.get<TestResult>();
    return tl::unexpected<Error>(Error{.message = json.at("error").get<std::string>(),
                                       .missing = json.at("missing").get<bool>()});
  } catch (const nlohmann::json::exception& error) {
    return make_error(fmt::format("the result of a test: {}", error.what()));
  }
}

}  // namespace muster::bench::node
