// SPDX-License-Identifier: Apache-2.0
// A simulated fleet with a clock of its own, for tests, demonstrations and the documentation. What
// its nodes answer depends on the words and the seed, and not on when they are asked: a run that
// was interrupted and resumed gets the same answers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "accept/fleet.hpp"
#include "lib/base/result.hpp"

namespace muster::accept {

// `so_far`: what is on record, where the fleet continues.
[[nodiscard]] Result<std::unique_ptr<Fleet>> make_sim_fleet(const Order& order,
                                                            std::string_view words,
                                                            const Results& so_far = {});

// The words, for --help.
[[nodiscard]] std::string sim_fleet_help();

}  // namespace muster::accept
