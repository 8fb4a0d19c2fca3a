// SPDX-License-Identifier: Apache-2.0
// The shipped plans, and the validation of plans.
#include "lib/accept/plan.hpp"

#include <array>
#include <cmath>

#include "lib/accept/terms.hpp"

namespace muster::accept {
namespace {

struct Bounds {
  std::string_view key;
  std::int64_t Plan::*member;
  std::int64_t least, most;
};

constexpr std::int64_t kDay = 86'400;

constexpr std::array kBounds{
    Bounds{"soak_s", &Plan::soak_s, 60, 30 * kDay},
    Bounds{"slice_s", &Plan::slice_s, 60, kDay},
    Bounds{"round_s", &Plan::round_s, 60, 30 * kDay},
    Bounds{"wait_s", &Plan::wait_s, 0, 30 * kDay},
    Bounds{"return_s", &Plan::return_s, 60, kDay},
    Bounds{"gap_s", &Plan::gap_s, 60, kDay},
    Bounds{"whole_runs", &Plan::whole_runs, 1, 9},
    Bounds{"hard_reads", &Plan::hard_reads, 2, 9},
    Bounds{"slow_runs", &Plan::slow_runs, 3, 9},
    Bounds{"uncertain_reads", &Plan::uncertain_reads, 1, 9},
    Bounds{"soaks", &Plan::soaks, 1, 9},
    Bounds{"losses", &Plan::losses, 1, 9},
    Bounds{"partners", &Plan::partners, 1, 16},
    Bounds{"breaker_nodes", &Plan::breaker_nodes, 2, static_cast<std::int64_t>(kMaxNodes)},
};

}  // namespace

Result<Plan> shipped_plan(std::string_view name) {
  auto plan = Plan{.name = std::string(name)};
  if (name == "quick") {
    plan.soak_s = 1'800;
  } else if (name == "strict") {
    plan.soak_s = 3 * kDay;
  } else if (name != "standard") {
    return make_error("unknown plan \"{}\", expected quick, standard, strict or a file", name);
  }
  return plan;
}

Result<void> check_plan(const Plan& plan) {
  for (const auto& [key, member, least, most] : kBounds) {
    if (plan.*member >= least && plan.*member <= most) continue;
    return make_error("{}: {} is out of range, expected {} to {}", key, plan.*member, least, most);
  }
  if (plan.slow_runs % 2 == 0) {
    return make_error("slow_runs: {} is even, expected an odd number for a majority",
                      plan.slow_runs);
  }
  if (!(plan.breaker_share > 0 && plan.breaker_share <= 1)) {
    return make_error("breaker_share: {} is out of range, expected above 0 and up to 1",
                      plan.breaker_share);
  }
  if (plan.slice_s > plan.soak_s) {
    return make_error("slice_s: {} is above soak_s, {}", plan.slice_s, plan.soak_s);
  }
  if (plan.level != "quick" && plan.level != "full") {
    return make_error("level: invalid \"{}\", expected quick or full", plan.level);
  }
  if (!(plan.node_hour_price >= 0 && std::isfinite(plan.node_hour_price))) {
    return make_error("node_hour_price: invalid price {}", plan.node_hour_price);
  }
  if (plan.terms) return check_terms(*plan.terms);
  return {};
}

std::int64_t deadline_s(const Plan& plan, Stage stage) {
  switch (stage) {
    case Stage::inventory:
    case Stage::check:
      return 120;
    case Stage::node:
      return 900;
    case Stage::fabric:
      return 3'600;
    case Stage::whole:
      return 900;
    case Stage::soak:
      return plan.slice_s + 300;
    case Stage::after:
      return 600;
  }
  return 0;
}

}  // namespace muster::accept
