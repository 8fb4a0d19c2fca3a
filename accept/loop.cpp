// SPDX-License-Identifier: Apache-2.0
#include "accept/loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "accept/identity.hpp"
#include "lib/base/text.hpp"

namespace muster::accept {
namespace {

constexpr std::int64_t kLongestWait = 60;  // seconds until nodes are looked for again
constexpr std::int64_t kStopTime = 35;     // seconds that steps have to end when asked to

std::string line_of(std::string_view who, Stage stage, AttemptEnd end, const std::string& why,
                    const std::vector<Cause>& causes) {
  std::string reason = why;
  if (reason.empty() && !causes.empty()) {
    reason = to_line(causes.front());
    if (causes.size() > 1) reason += fmt::format(" (and {} more)", causes.size() - 1);
  }
  return fmt::format("{} {}: {}{}{}", who, to_string(stage), to_string(end),
                     reason.empty() ? "" : ": ", printable(reason));
}

class Driver {
 public:
  Driver(RunFolder& folder, Fleet& fleet, const LoopHooks& hooks)
      : folder_(folder),
        fleet_(fleet),
        hooks_(hooks),
        identities_(folder.order()),
        recorded_(folder.order().nodes.size()) {
    const auto& nodes = folder.order().nodes;
    std::map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < nodes.size(); ++i) places[nodes[i].name] = i;
    for (const auto& attempt : folder.results().attempts) {
      if (attempt.stage != Stage::inventory || attempt.end == AttemptEnd::running) continue;
      auto& number = recorded_[places.at(attempt.node)];
      number = std::max(number, attempt.number);
    }
  }

  [[nodiscard]] Result<LoopResult> run() {
    for (;;) {
      auto actions = next(folder_.order(), folder_.results(), fleet_.reachable(), fleet_.now());
      hooks_.progress(actions);
      if (hooks_.stops() > 0) return stop(actions);
      TRY(start(actions));
      if (running_ == 0 && actions.complete) return LoopResult{LoopEnd::complete, actions};
      if (running_ == 0 && !actions.wake) {
        const auto end = actions.breakers.empty() ? LoopEnd::waiting : LoopEnd::breaker;
        return LoopResult{end, std::move(actions)};
      }
      const auto now = fleet_.now();
      const auto until = std::min(actions.wake.value_or(now + kLongestWait), now + kLongestWait);
      TRY(record(fleet_.wait(std::max(until, now + 1))));
    }
  }

 private:
  // Reads, once, the inventory that a node sent to an earlier driver.
  [[nodiscard]] Result<void> recall(std::size_t node) {
    const auto number = std::exchange(recorded_[node], 0);
    if (number == 0) return {};
    const Attempt inventory{.node = folder_.order().nodes[node].name, .number = number};
    TRY_ASSIGN(const auto answer, folder_.answer(inventory));
    if (answer) identities_.remember(node, *answer);
    return {};
  }

  [[nodiscard]] Result<void> start(const Actions& actions) {
    for (const auto& step : actions.nodes) {
      TRY(folder_.begin(step, fleet_.now()));
      fleet_.start(step);
      ++running_;
    }
    for (const auto& step : actions.groups) {
      TRY(folder_.begin(step, fleet_.now()));
      fleet_.start(step);
      ++running_;
    }
    return {};
  }

  [[nodiscard]] Result<LoopResult> stop(const Actions& actions) {
    fleet_.stop();
    hooks_.stopping(actions);
    const auto until = fleet_.now() + kStopTime;
    while (running_ > 0 && hooks_.stops() < 2 && fleet_.now() < until) {
      TRY(record(fleet_.wait(until)));
    }
    return LoopResult{LoopEnd::stopped,
                      next(folder_.order(), folder_.results(), fleet_.reachable(), fleet_.now())};
  }

  [[nodiscard]] Result<void> record(const std::vector<EndedStep>& ended) {
    for (const auto& step : ended) {
      --running_;
      if (step.node) {
        TRY(record_node(*step.node, step));
      } else if (step.group) {
        TRY(record_group(*step.group, step));
      }
    }
    return {};
  }

  [[nodiscard]] Result<void> record_node(const NodeStart& start, const EndedStep& ended) {
    auto attempt = running_attempt(start);
    attempt.ended = std::max(attempt.started, fleet_.now());
    TRY(recall(start.node));
    if (ended.answer) {
      judge_attempt(attempt, *ended.answer, folder_.order().nodes.at(start.node));
      identities_.compare(start.node, *ended.answer, attempt);
      if (attempt.stage == Stage::after) TRY(compare_with_node_stage(attempt, *ended.answer));
    } else {
      attempt.end = ended.lost ? AttemptEnd::lost : AttemptEnd::interrupted;
      attempt.why = ended.why;
    }
    TRY(folder_.end(attempt, ended.answer));
    hooks_.ended(line_of(attempt.node, attempt.stage, attempt.end, attempt.why, attempt.causes));
    return {};
  }

  // Compares the answer with the newest tests before the soak that passed.
  [[nodiscard]] Result<void> compare_with_node_stage(Attempt& attempt, const StepAnswer& answer) {
    const auto& all = folder_.results().attempts;
    const auto before = std::find_if(all.rbegin(), all.rend(), [&](const Attempt& each) {
      return each.stage == Stage::node && each.node == attempt.node &&
             (each.end == AttemptEnd::pass || each.end == AttemptEnd::warn);
    });
    if (before == all.rend()) return {};
    TRY_ASSIGN(const auto known, folder_.answer(*before));
    if (known) compare_speed(attempt, *known, answer);
    return {};
  }

  [[nodiscard]] Result<void> record_group(const GroupStart& start, const EndedStep& ended) {
    GroupAttempt attempt = running_group(start);
    for (const auto node : start.nodes) TRY(recall(node));
    if (ended.answer) {
      std::vector<std::string> hosts;
      for (const auto node : start.nodes) hosts.push_back(identities_.host(node));
      judge_attempt(attempt, *ended.answer, hosts);
    } else {
      const bool lost = ended.lost || !ended.lost_nodes.empty();
      attempt.end = lost ? AttemptEnd::lost : AttemptEnd::interrupted;
      attempt.why = ended.why;
    }
    for (const auto node : ended.lost_nodes) {
      attempt.lost.push_back(folder_.order().nodes.at(node).name);
    }
    attempt.ended = std::max(attempt.started, fleet_.now());
    TRY(folder_.end(attempt, ended.answer));
    const auto who = fmt::format("{} nodes", attempt.nodes.size());
    hooks_.ended(line_of(who, attempt.stage, attempt.end, attempt.why, attempt.causes));
    return {};
  }

  // Finds the attempt that began with `start`. It is usually among the newest.
  [[nodiscard]] Attempt running_attempt(const NodeStart& start) const {
    const auto& name = folder_.order().nodes.at(start.node).name;
    const auto& all = folder_.results().attempts;
    const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Attempt& each) {
      return each.stage == start.stage && each.number == start.number && each.node == name;
    });
    return *found;
  }

  [[nodiscard]] GroupAttempt running_group(const GroupStart& start) const {
    const auto& all = folder_.results().groups;
    const auto found = std::find_if(all.rbegin(), all.rend(), [&](const GroupAttempt& each) {
      return each.stage == start.stage && each.number == start.number;
    });
    return *found;
  }

  RunFolder& folder_;
  Fleet& fleet_;
  const LoopHooks& hooks_;
  Identities identities_;
  std::vector<std::int64_t> recorded_;  // numbers of inventories that have not been read yet
  std::size_t running_ = 0;
};

}  // namespace

Result<LoopResult> run_acceptance(RunFolder& folder, Fleet& fleet, const LoopHooks& hooks) {
  return Driver(folder, fleet, hooks).run();
}

}  // namespace muster::accept
