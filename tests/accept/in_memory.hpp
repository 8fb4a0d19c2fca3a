// SPDX-License-Identifier: Apache-2.0
// Drives a fleet with next() but without a folder, for thousands of acceptances in memory.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "accept/fleet.hpp"
#include "lib/accept/next.hpp"
#include "lib/accept/step.hpp"

namespace muster::accept {

class InMemoryRun {
 public:
  InMemoryRun(const Order& order, Fleet& fleet) : order_(order), fleet_(fleet) {}

  // Runs until next() starts nothing and has nothing to wait for. Gives up after `most` calls.
  [[nodiscard]] Actions run(int most = 3'000) {
    for (;;) {
      auto actions = next(order_, results_, fleet_.reachable(), fleet_.now());
      for (const auto& step : actions.nodes) begin(step);
      for (const auto& step : actions.groups) begin(step);
      const bool over = running_.empty() && (actions.complete || !actions.wake);
      if (over || ++looks_ > most) return actions;
      for (const auto& ended : fleet_.wait(actions.wake.value_or(fleet_.now() + kDay))) {
        ended.node ? end(*ended.node, ended) : end(*ended.group, ended);
      }
    }
  }

 private:
  static constexpr std::int64_t kDay = 86'400;
  using Key = std::tuple<std::size_t, Stage, std::int64_t>;
  static constexpr auto kGroup = static_cast<std::size_t>(-1);

  void begin(const NodeStart& step) {
    running_[{step.node, step.stage, step.number}] = results_.attempts.size();
    results_.attempts.push_back({.node = order_.nodes[step.node].name,
                                 .stage = step.stage,
                                 .number = step.number,
                                 .started = fleet_.now()});
    fleet_.start(step);
  }

  void begin(const GroupStart& step) {
    running_[{kGroup, step.stage, step.number}] = results_.groups.size();
    auto& group = results_.groups.emplace_back(
        GroupAttempt{.stage = step.stage, .number = step.number, .started = fleet_.now()});
    for (const auto node : step.nodes) group.nodes.push_back(order_.nodes[node].name);
    fleet_.start(step);
  }

  [[nodiscard]] std::size_t take(const Key& key) {
    const auto found = running_.extract(key);
    return found.mapped();
  }

  static void end_unanswered(auto& attempt, const EndedStep& ended) {
    attempt.end =
        ended.lost || !ended.lost_nodes.empty() ? AttemptEnd::lost : AttemptEnd::interrupted;
    attempt.why = ended.why;
  }

  void end(const NodeStart& step, const EndedStep& ended) {
    auto& attempt = results_.attempts[take({step.node, step.stage, step.number})];
    attempt.ended = fleet_.now();
    if (ended.answer) {
      judge_attempt(attempt, *ended.answer, order_.nodes[step.node]);
    } else {
      end_unanswered(attempt, ended);
    }
  }

  void end(const GroupStart& step, const EndedStep& ended) {
    auto& attempt = results_.groups[take({kGroup, step.stage, step.number})];
    if (ended.answer) {
      judge_attempt(attempt, *ended.answer, attempt.nodes);
    } else {
      end_unanswered(attempt, ended);
    }
    for (const auto node : ended.lost_nodes) attempt.lost.push_back(order_.nodes[node].name);
    attempt.ended = fleet_.now();
  }

  const Order& order_;
  Fleet& fleet_;
  Results results_;
  std::map<Key, std::size_t> running_;
  int looks_ = 0;
};

}  // namespace muster::accept
