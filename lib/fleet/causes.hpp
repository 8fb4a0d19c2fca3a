// SPDX-License-Identifier: Apache-2.0
// How often incidents happen, with a confidence interval, and which causes cost most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster::fleet {

// The mean time between incidents, with its 90% confidence interval. Without an incident, only the
// lower bound is known.
struct Mtbf {
  MUSTER_DESCRIBED(Mtbf);
  MUSTER_FIELD(double, exposure_h, "hours observed") = 0;
  MUSTER_FIELD(std::int64_t, incidents, "") = 0;
  MUSTER_FIELD(std::optional<double>, hours, "null without an incident or exposure");
  MUSTER_FIELD(double, low_h, "lower end of the 90% confidence interval") = 0;
  MUSTER_FIELD(std::optional<double>, high_h, "upper end; null without an incident");
};

[[nodiscard]] Mtbf mtbf_of(double exposure_h, std::int64_t incidents);

// Returns "412 h (301 to 580)", "> 1,200 h" without an incident, "not known" without exposure.
[[nodiscard]] std::string mtbf_text(const Mtbf& mtbf);

// All incidents of a cause, such as a check, a model or a leaf switch.
struct Cause {
  std::string key;
  std::int64_t incidents = 0;
  double lost_h = 0;      // node-hours
  double exposure_h = 0;  // hours observed of the nodes or parts that could have it
};

struct CauseRow {
  MUSTER_DESCRIBED(CauseRow);
  MUSTER_FIELD(std::string, key, "") = {};
  MUSTER_FIELD(std::int64_t, incidents, "") = 0;
  MUSTER_FIELD(double, lost_h, "node-hours") = 0;
  MUSTER_FIELD(double, share,
               "share of the lost node-hours, or of the incidents if no hours are known") = 0;
  MUSTER_FIELD(double, cumulated, "sum of the shares down to this row") = 0;
  MUSTER_FIELD(Mtbf, mtbf, "");
};

// Returns the causes with their shares, most expensive first.
[[nodiscard]] std::vector<CauseRow> pareto_of(std::vector<Cause> causes);

}  // namespace muster::fleet
