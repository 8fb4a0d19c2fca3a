// SPDX-License-Identifier: Apache-2.0
// `muster fleet drift`: devices that got worse than their peers over weeks, and steps of all of
// them. A list to look at; nothing is drained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/readings.hpp"
#include "fleet/sqlite.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster::fleet {

struct DriftRow {
  MUSTER_DESCRIBED(DriftRow);
  MUSTER_FIELD(std::string, node, "") = {};
  MUSTER_FIELD(std::string, device, "") = {};
  MUSTER_FIELD(std::string, profile, "") = {};
  MUSTER_FIELD(std::string, quantity, "") = {};
  MUSTER_FIELD(std::string, unit, "") = {};
  MUSTER_FIELD(std::string, since, "the day on which it began") = {};
  MUSTER_FIELD(std::string, found, "the day on which it was certain") = {};
  MUSTER_FIELD(std::string, until, "the last day with this stack and part") = {};
  MUSTER_FIELD(double, share, "by how much it had changed against its peers by then") = 0;
  MUSTER_FIELD(bool, recovered, "") = false;
  MUSTER_FIELD(bool, current, "it lasts, with the same stack and part") = false;
  MUSTER_FIELD(std::vector<double>, weeks,
               "medians of weeks against its peers, from the first") = {};
  MUSTER_FIELD(std::vector<std::string>, changes, "of the node within a day of `since`") = {};
};

struct StepRow {
  MUSTER_DESCRIBED(StepRow);
  MUSTER_FIELD(std::string, profile, "") = {};
  MUSTER_FIELD(std::string, day, "the first one after it") = {};
  MUSTER_FIELD(ByName<double>, shares, "by quantity, how much its median changed") = {};
  MUSTER_FIELD(std::vector<std::string>, changes, "of many nodes within a day of it") = {};
};

struct DriftAnswer {
  static constexpr std::string_view kSchema = "muster.fleet_drift/1";
  MUSTER_DESCRIBED(DriftAnswer);
  MUSTER_FIELD(std::string, from, "the first day") = {};
  MUSTER_FIELD(std::string, until, "the last one") = {};
  MUSTER_FIELD(std::uint64_t, compared, "series with a base") = 0;
  MUSTER_FIELD(std::vector<DriftRow>, drifts, "current ones first, then the largest") = {};
  MUSTER_FIELD(std::vector<StepRow>, steps, "of the medians of all nodes: no node is accused") = {};
};

// Drifts and steps that were found since then.
[[nodiscard]] Result<DriftAnswer> ask_drift(Database& database, const Nodes& nodes,
                                            std::int64_t since);
[[nodiscard]] std::string drift_text(const DriftAnswer& answer, std::size_t width);

}  // namespace muster::fleet
