// SPDX-License-Identifier: Apache-2.0
// `muster fleet drift`: devices that got worse than their peers over weeks, and steps in the values
// of all devices. Only a list to look at; nothing is drained.
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
  MUSTER_FIELD(std::string, since, "the day it began") = {};
  MUSTER_FIELD(std::string, found, "the day it became certain") = {};
  MUSTER_FIELD(std::string, until, "the last day with this stack and part") = {};
  MUSTER_FIELD(double, share, "how much it had changed by then, relative to its peers") = 0;
  MUSTER_FIELD(bool, recovered, "") = false;
  MUSTER_FIELD(bool, current, "it is not over, and stack and part are the same") = false;
  MUSTER_FIELD(std::vector<double>, weeks,
               "weekly medians relative to its peers, from the first week") = {};
  MUSTER_FIELD(std::vector<std::string>, changes,
               "changes of the node within a day of `since`") = {};
};

struct StepRow {
  MUSTER_DESCRIBED(StepRow);
  MUSTER_FIELD(std::string, profile, "") = {};
  MUSTER_FIELD(std::string, day, "the first day after it") = {};
  MUSTER_FIELD(ByName<double>, shares, "how much the median changed, by quantity") = {};
  MUSTER_FIELD(std::vector<std::string>, changes,
               "changes that many nodes had within a day of it") = {};
};

struct DriftAnswer {
  static constexpr std::string_view kSchema = "muster.fleet_drift/1";
  MUSTER_DESCRIBED(DriftAnswer);
  MUSTER_FIELD(std::string, from, "the first day") = {};
  MUSTER_FIELD(std::string, until, "the last day") = {};
  MUSTER_FIELD(std::uint64_t, compared, "number of series with a base") = 0;
  MUSTER_FIELD(std::vector<DriftRow>, drifts, "current ones first, then the largest") = {};
  MUSTER_FIELD(std::vector<StepRow>, steps,
               "steps of the medians of all nodes; no node is accused") = {};
};

// Returns the drifts and steps that were found after `since`.
[[nodiscard]] Result<DriftAnswer> ask_drift(Database& database, const Nodes& nodes,
                                            std::int64_t since);
[[nodiscard]] std::string drift_text(const DriftAnswer& answer, std::size_t width);

}  // namespace muster::fleet
