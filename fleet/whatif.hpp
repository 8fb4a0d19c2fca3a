// SPDX-License-Identifier: Apache-2.0
// `muster fleet whatif --set KEY=VALUE`: what a limit would have found, from the stored values, or
// by judging the stored snapshots again.
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
  bool above = true;  // values above it are beyond

  [[nodiscard]] bool is_beyond(double value) const { return above ? value > limit : value < limit; }
};

// Empty if the setting is another, so that snapshots have to be judged.
[[nodiscard]] Result<std::optional<ValueLimit>> value_limit(Database& database,
                                                            std::string_view setting);

struct WhatifMonth {
  MUSTER_DESCRIBED(WhatifMonth);
  MUSTER_FIELD(std::string, month, "2026-11") = {};
  MUSTER_FIELD(std::uint64_t, newly, "devices or nodes that begin to fail, by this limit") = 0;
  MUSTER_FIELD(std::uint64_t, cured, "that failed, and do not by this limit") = 0;
};

struct WhatifAnswer {
  static constexpr std::string_view kSchema = "muster.fleet_whatif/1";
  MUSTER_DESCRIBED(WhatifAnswer);
  MUSTER_FIELD(std::vector<std::string>, settings, "") = {};
  MUSTER_FIELD(std::string, basis, "values or snapshots") = {};
  MUSTER_FIELD(std::uint64_t, judged, "values or snapshots") = 0;
  MUSTER_FIELD(std::vector<std::string>, newly_failing, "nodes, by their newest") = {};
  MUSTER_FIELD(std::vector<std::string>, cured, "likewise") = {};
  MUSTER_FIELD(std::vector<WhatifMonth>, months, "") = {};
  MUSTER_FIELD(std::uint64_t, alarms, "devices that went beyond the limit, each time") = 0;
  MUSTER_FIELD(std::uint64_t, announced, "incidents of the device within 30 days of an alarm") = 0;
  MUSTER_FIELD(std::optional<double>, lead_days, "the median time from the alarm to the incident");
  MUSTER_FIELD(std::uint64_t, without_incident, "alarms without an incident after") = 0;
};

[[nodiscard]] Result<WhatifAnswer> whatif_by_values(Database& database, const Nodes& nodes,
                                                    const ValueLimit& limit, std::int64_t since);

// The reports of a snapshot by the profile as it is, and by the changed one.
using JudgeTwice = std::function<Result<std::pair<Report, Report>>(const Snapshot& snapshot)>;

// The newest snapshot of each node, or all.
[[nodiscard]] Result<WhatifAnswer> whatif_by_snapshots(Database& database, const Nodes& nodes,
                                                       const JudgeTwice& judge, bool all,
                                                       std::int64_t since);

[[nodiscard]] std::string whatif_text(const WhatifAnswer& answer, std::size_t width);

}  // namespace muster::fleet
