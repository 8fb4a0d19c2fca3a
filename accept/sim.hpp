// SPDX-License-Identifier: Apache-2.0
// A simulated fleet with its own clock, for tests, demonstrations and the documentation. The
// answers of its nodes depend on the description and the seed but not on when they are asked, so a
// run that was interrupted and resumed gets the same answers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "accept/fleet.hpp"
#include "lib/base/result.hpp"

namespace muster::accept {

// Makes a fleet that continues after `so_far`, the results on record.
[[nodiscard]] Result<std::unique_ptr<Fleet>> make_sim_fleet(const Order& order,
                                                            std::string_view words,
                                                            const Results& so_far = {});

// Describes the settings of --sim, for --help.
[[nodiscard]] std::string sim_fleet_help();

}  // namespace muster::accept
