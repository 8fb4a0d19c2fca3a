// SPDX-License-Identifier: Apache-2.0
// `muster fleet whatif --set KEY=VALUE`: the findings that a limit would have caused, from the
// stored values or by judging the stored snapshots again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fleet/readings.hpp"
#include "fleet/sqlite.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"
#include "lib/report/report.hpp"

namespace muster {
struct Snapshot;
}

namespace muster::fleet {

// A limit of a check whose values are stored: "gpu.temperature.warn_above=80".
struct ValueLimit {
  std::string check, setting;
  double limit = 0;
  bool above = true;  // values above the limit are beyond it, else values below

  [[nodiscard]] bool is_beyond(double value) const { return above ? value > limit : value < limit; }
};

// Returns nothing if the setting is not such a limit, so that snapshots have to be judged.
[[nodiscard]] Result<std::optional<ValueLimit>> value_limit(Database& database,
                                                            std::string_view setting);

struct WhatifMonth {
  MUSTER_DESCRIBED(WhatifMonth);
  MUSTER_FIELD(std::string, month, "2026-11") = {};
  MUSTER_FIELD(std::uint64_t, newly, "devices or nodes that start to fail with this limit") = 0;
  MUSTER_FIELD(std::uint64_t, cured, "devices or nodes that no longer fail with it") = 0;
};

struct WhatifAnswer {
  static constexpr std::string_view kSchema = "muster.fleet_whatif/1";
  MUSTER_DESCRIBED(WhatifAnswer);
  MUSTER_FIELD(std::vector<std::string>, settings, "") = {};
  MUSTER_FIELD(std::string, basis, "values or snapshots") = {};
  MUSTER_FIELD(std::uint64_t, judged, "values or snapshots") = 0;
  MUSTER_FIELD(std::vector<std::string>, newly_failing,
               "nodes whose newest value or snapshot fails now") = {};
  MUSTER_FIELD(std::vector<std::string>, cured,
               "nodes whose newest value or snapshot no longer fails") = {};
  MUSTER_FIELD(std::vector<WhatifMonth>, months, "") = {};
  MUSTER_FIELD(std::uint64_t, alarms, "number of times that a device went beyond the limit") = 0;
  MUSTER_FIELD(std::uint64_t, announced,
               "incidents on the device within 30 days after an alarm") = 0;
  MUSTER_FIELD(std::optional<double>, lead_days, "median time from an alarm to its incident");
  MUSTER_FIELD(std::uint64_t, without_incident, "alarms that no incident followed") = 0;
};

[[nodiscard]] Result<WhatifAnswer> whatif_by_values(Database& database, const Nodes& nodes,
                                                    const ValueLimit& limit, std::int64_t since);

// Returns the findings about a snapshot, by the profile as it is and by the changed profile.
using JudgeTwice = std::function<Result<std::pair<std::vector<Finding>, std::vector<Finding>>>(
    const Snapshot& snapshot)>;

// Judges the newest snapshot of each node, or all snapshots.
[[nodiscard]] Result<WhatifAnswer> whatif_by_snapshots(Database& database, const Nodes& nodes,
                                                       const JudgeTwice& judge, bool all,
                                                       std::int64_t since);

[[nodiscard]] std::string whatif_text(const WhatifAnswer& answer, std::size_t width);

}  // namespace muster::fleet
