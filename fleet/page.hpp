// SPDX-License-Identifier: Apache-2.0
// The page of the fleet: one HTML file without scripts or external references.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/causes.hpp"
#include "fleet/drift.hpp"
#include "fleet/odd.hpp"
#include "fleet/offenders.hpp"
#include "fleet/readings.hpp"
#include "fleet/sqlite.hpp"
#include "lib/base/result.hpp"

namespace muster::fleet {

// The answers that the page shows.
struct PageAnswers {
  CausesAnswer causes;
  OddAnswer odd;
  DriftAnswer drift;
  std::vector<OffenderRow> offenders;
};

[[nodiscard]] Result<PageAnswers> ask_all(Database& database, const Nodes& nodes);

[[nodiscard]] std::string fleet_page(const Nodes& nodes, const PageAnswers& answers,
                                     std::string_view cluster);

[[nodiscard]] std::string_view page_template();

}  // namespace muster::fleet
