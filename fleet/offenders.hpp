// SPDX-License-Identifier: Apache-2.0
// Repeat offenders in the store: parts, seats, nodes and hosts. A recommendation, never a verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/readings.hpp"
#include "fleet/sqlite.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"
#include "lib/fleet/offenders.hpp"

namespace muster::fleet {

struct OffenderRow {
  MUSTER_DESCRIBED(OffenderRow);
  MUSTER_FIELD(SuspectKind, kind, "part, seat, node or host") = SuspectKind::part;
  MUSTER_FIELD(
      std::string, name,
      "a part's kind and serial; of a seat the node and device; else the node or host") = {};
  MUSTER_FIELD(std::string, model, "of a part, or of the parts in the seat") = {};
  MUSTER_FIELD(std::vector<std::string>, nodes, "where its incidents were") = {};
  MUSTER_FIELD(std::vector<std::string>, causes, "checks that failed first") = {};
  MUSTER_FIELD(std::int64_t, incidents, "within the window") = 0;
  MUSTER_FIELD(std::int64_t, boots, "with an incident") = 0;
  MUSTER_FIELD(double, days, "observed within the window") = 0;
  MUSTER_FIELD(double, factor, "its rate, as a multiple of its peers'") = 0;
  MUSTER_FIELD(double, probability, "that its rate is above three times its peers'") = 0;
};

inline constexpr std::int64_t kOffenderDays = 180;

// The repeat offenders of the 180 days before `now`.
[[nodiscard]] Result<std::vector<OffenderRow>> ask_offenders(Database& database, const Nodes& nodes,
                                                             std::int64_t now);

// "part gpu 1650000066 (NVIDIA H100): 9 incidents in 6 boots and 180 days ...".
[[nodiscard]] std::string offender_line(const OffenderRow& row);

}  // namespace muster::fleet
