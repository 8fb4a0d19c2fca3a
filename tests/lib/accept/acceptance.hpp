// SPDX-License-Identifier: Apache-2.0
// Runs an acceptance to its end: carries out what next() asks for, with outcomes that a test
// chooses.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/accept/next.hpp"
#include "lib/accept/step.hpp"

namespace muster::accept {

inline Cause cause(std::string check, std::string device, Evidence evidence,
                   Charge charge = Charge::provider) {
  return {.check = std::move(check),
          .device = std::move(device),
          .message = "broken",
          .charge = charge,
          .evidence = evidence};
}

// The outcome of one attempt.
struct Outcomes {
  AttemptEnd end = AttemptEnd::pass;
  std::vector<Cause> causes{};
  std::vector<std::string> lost{};
};

inline Outcomes failed(Cause cause) {
  return {.end = AttemptEnd::fail, .causes = {std::move(cause)}};
}

inline Outcomes refused(Cause cause) {
  return {.end = AttemptEnd::refused, .causes = {std::move(cause)}};
}

class Acceptance {
 public:
  using NodeOutcome = std::function<Outcomes(const std::string& node, Stage stage, int number)>;
  using GroupOutcome = std::function<Outcomes(const GroupAttempt& attempt)>;

  explicit Acceptance(int nodes, Plan plan = shipped_plan("quick").value()) {
    order.plan = std::move(plan);
    for (int i = 0; i < nodes; ++i) order.nodes.push_back({.name = fmt::format("n{}", i)});
    reachable.assign(order.nodes.size(), true);
  }

  NodeOutcome on_node = [](const std::string&, Stage, int) { return Outcomes{}; };
  GroupOutcome on_group = [](const GroupAttempt&) { return Outcomes{}; };

  Order order{.id = "1", .muster = "0.1.0"};
  Results results;
  std::vector<bool> reachable;
  std::int64_t now = 1'800'000'000;
  int steps = 0;

  // Until next() starts nothing and has nothing to wait for.
  Actions run() {
    for (;;) {
      auto actions = ask();
      if (++steps > 10'000) ADD_FAILURE() << "the run does not end";
      if (steps > 10'000) return actions;
      if (actions.nodes.empty() && actions.groups.empty()) {
        if (!actions.wake) return actions;
        now = *actions.wake;
        continue;
      }
      const auto started = now;
      now += 600;
      for (const auto& start : actions.nodes) take(start, started);
      for (const auto& start : actions.groups) take(start, started);
    }
  }

  [[nodiscard]] Actions ask() const { return next(order, results, reachable, now); }

  [[nodiscard]] NodeVerdict verdict(const Actions& actions, int node) const {
    return actions.standings.at(static_cast<std::size_t>(node)).verdict;
  }

 private:
  void take(const NodeStart& start, std::int64_t started) {
    const auto& name = order.nodes[start.node].name;
    auto [end, causes, lost] = on_node(name, start.stage, static_cast<int>(start.number));
    for (auto& each : causes) each.node = name;
    results.attempts.push_back({.node = name,
                                .stage = start.stage,
                                .number = start.number,
                                .end = end,
                                .started = started,
                                .ended = now,
                                .why = end == AttemptEnd::pass ? "" : "a reason",
                                .causes = std::move(causes),
                                .profile = "p",
                                .serials = {fmt::format("serial of {}", name)}});
  }

  void take(const GroupStart& start, std::int64_t started) {
    GroupAttempt attempt{.stage = start.stage, .number = start.number, .started = started};
    for (const auto node : start.nodes) attempt.nodes.push_back(order.nodes[node].name);
    auto [end, causes, lost] = on_group(attempt);
    attempt.end = end;
    attempt.ended = now;
    attempt.causes = std::move(causes);
    attempt.lost = std::move(lost);
    results.groups.push_back(std::move(attempt));
  }
};

inline const Cause kMissing = cause("gpu.count", "node", Evidence::hard);
inline const Cause kSlow = cause("bench.gemm", "gpu3", Evidence::slow);
inline const Cause kXid = cause("gpu.xid", "gpu1", Evidence::event, Charge::open);

// The number of attempts of a node at a stage.
inline std::int64_t count_of(const Acceptance& run, const std::string& node, Stage stage) {
  return std::ranges::count_if(run.results.attempts, [&](const Attempt& attempt) {
    return attempt.node == node && attempt.stage == stage;
  });
}

// The number of attempts of `stage` that the node took part in.
inline std::int64_t groups_of(const Acceptance& run, const std::string& node, Stage stage) {
  return std::ranges::count_if(run.results.groups, [&](const GroupAttempt& group) {
    return group.stage == stage && std::ranges::count(group.nodes, node) > 0;
  });
}

}  // namespace muster::accept
