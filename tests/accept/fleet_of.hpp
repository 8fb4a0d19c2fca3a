// SPDX-License-Identifier: Apache-2.0
// Orders of simulated nodes.
#pragma once

#include <fmt/format.h>

#include "lib/accept/plan.hpp"

namespace muster::accept {

// sim001, sim002 ...
[[nodiscard]] inline Order order_of(int nodes, Plan plan = shipped_plan("quick").value()) {
  Order order{.id = "test", .muster = "1.0", .created = 1'800'000'000, .plan = std::move(plan)};
  for (int i = 1; i <= nodes; ++i) order.nodes.push_back({.name = fmt::format("sim{:03}", i)});
  return order;
}

}  // namespace muster::accept
