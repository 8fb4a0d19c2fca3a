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
      "kind and serial of a part, node and device of a seat, or name of the node or host") = {};
  MUSTER_FIELD(std::string, model, "model of the part, or of the parts in the seat") = {};
  MUSTER_FIELD(std::vector<std::string>, nodes, "where its incidents happened") = {};
  MUSTER_FIELD(std::vector<std::string>, causes, "checks that failed first") = {};
  MUSTER_FIELD(std::int64_t, incidents, "within the window") = 0;
  MUSTER_FIELD(std::int64_t, boots, "number of boots with an incident") = 0;
  MUSTER_FIELD(double, days, "observed within the window") = 0;
  MUSTER_FIELD(double, factor, "its rate, as a multiple of its peers' rate") = 0;
  MUSTER_FIELD(double, probability,
               "probability that its rate is above three times its peers' rate") = 0;
};

inline constexpr std::int64_t kOffenderDays = 180;

// Returns the repeat offenders of the 180 days before `now`.
[[nodiscard]] Result<std::vector<OffenderRow>> ask_offenders(Database& database, const Nodes& nodes,
                                                             std::int64_t now);

// Returns "part gpu 1650000066 (NVIDIA H100): 9 incidents in 6 boots and 180 days ...".
[[nodiscard]] std::string offender_line(const OffenderRow& row);

}  // namespace muster::fleet
