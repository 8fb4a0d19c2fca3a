// SPDX-License-Identifier: Apache-2.0
// `muster fleet diff A B`: compares values, software, parts and incidents of two weeks, runs or
// nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/readings.hpp"
#include "fleet/sqlite.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster::fleet {

struct QuantityDifference {
  MUSTER_DESCRIBED(QuantityDifference);
  MUSTER_FIELD(std::string, profile, "") = {};
  MUSTER_FIELD(std::string, quantity, "") = {};
  MUSTER_FIELD(std::string, unit, "") = {};
  MUSTER_FIELD(std::uint64_t, count,
               "number of devices; on the smaller side if they are not paired") = 0;
  MUSTER_FIELD(bool, paired, "each device is compared with itself") = false;
  MUSTER_FIELD(double, before, "median of the first side") = 0;
  MUSTER_FIELD(double, after, "median of the second side") = 0;
  MUSTER_FIELD(double, share, "the difference, relative to `before`") = 0;
  MUSTER_FIELD(std::optional<double>, low,
               "lower end of the 95% confidence interval; null for too few values");
  MUSTER_FIELD(std::optional<double>, high,
               "upper end of the 95% confidence interval; null for too few values");
};

struct CountedText {
  MUSTER_DESCRIBED(CountedText);
  MUSTER_FIELD(std::string, text, "") = {};
  MUSTER_FIELD(std::vector<std::string>, nodes, "") = {};
};

struct DiffAnswer {
  static constexpr std::string_view kSchema = "muster.fleet_diff/1";
  MUSTER_DESCRIBED(DiffAnswer);
  MUSTER_FIELD(std::string, before, "the first side: its name, start and end") = {};
  MUSTER_FIELD(std::string, after, "the second side") = {};
  MUSTER_FIELD(std::vector<QuantityDifference>, quantities, "certain differences first") = {};
  MUSTER_FIELD(std::vector<CountedText>, changes, "changes of software and parts") = {};
  MUSTER_FIELD(std::vector<CountedText>, newly_failing, "by check") = {};
  MUSTER_FIELD(std::vector<CountedText>, cured, "by check") = {};
};

// Compares two sides. A side is a date, which means the week that begins on it; NODES@DATE for some
// nodes; or the id of an acceptance.
[[nodiscard]] Result<DiffAnswer> ask_diff(Database& database, const Nodes& nodes,
                                          std::string_view before, std::string_view after);
[[nodiscard]] std::string diff_text(const DiffAnswer& answer, std::size_t width);

}  // namespace muster::fleet
