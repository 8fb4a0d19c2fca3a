// SPDX-License-Identifier: Apache-2.0
#include "accept/sim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "accept/frame.hpp"
#include "accept/sim_group.hpp"
#include "accept/sim_node.hpp"
#include "accept/sim_words.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"

namespace muster::accept {
namespace {

using sim::FaultKind;
using sim::NodeHistory;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
// How long it takes to notice that a node has stopped answering.
constexpr std::int64_t kSilence = 60;

// The answers of ten thousand nodes at once would need a lot of memory.
constexpr std::size_t kAtOnce = 512;

std::size_t index_of(Stage stage) { return static_cast<std::size_t>(stage); }

class SimFleet final : public Fleet {
 public:
  SimFleet(const Order& order, sim::FleetWords words, const Results& so_far)
      : order_(order),
        words_(std::move(words)),
        nodes_(order_, words_),
        groups_(order_, words_),
        now_(order_.created),
        histories_(order_.nodes.size()) {
    recall(so_far);
  }

  [[nodiscard]] std::int64_t now() override { return now_; }

  [[nodiscard]] std::vector<bool> reachable() override {
    std::vector<bool> answers(histories_.size());
    for (std::size_t i = 0; i < answers.size(); ++i) answers[i] = back_at(i) <= now_;
    return answers;
  }

  void start(const NodeStart& step) override {
    const bool lost =
        back_at(step.node) > now_ || nodes_.is_lost(step.node, step.stage, histories_[step.node]);
    const auto seconds = lost ? kSilence : nodes_.seconds_of(step.node, step.stage);
    running_.emplace(now_ + seconds, EndedStep{.node = step, .lost = lost});
  }

  void start(const GroupStart& step) override {
    EndedStep ended{.group = step};
    for (const auto node : step.nodes) {
      const auto& history = histories_[node];
      const bool soak = step.stage == Stage::soak;  // only an all-reduce between slices
      if (back_at(node) > now_ || (!soak && nodes_.is_lost(node, step.stage, history))) {
        ended.lost_nodes.push_back(node);
      }
    }
    const auto seconds = ended.lost_nodes.empty() ? group_seconds(step.stage) : kSilence;
    running_.emplace(now_ + seconds, std::move(ended));
  }

  [[nodiscard]] std::vector<EndedStep> wait(std::int64_t until) override {
    auto next = until;
    for (std::size_t i = 0; i < histories_.size(); ++i) {
      if (back_at(i) > now_) next = std::min(next, back_at(i));
    }
    if (!running_.empty()) next = std::min(next, running_.begin()->first);
    if (next != kNever) now_ = std::max(now_, next);
    std::vector<EndedStep> ended;
    while (!running_.empty() && running_.begin()->first <= now_ && ended.size() < kAtOnce) {
      auto step = running_.extract(running_.begin());
      end(step.mapped());
      ended.push_back(std::move(step.mapped()));
    }
    return ended;
  }

  void stop() override {
    decltype(running_) stopped;
    for (auto& [at, step] : running_) {
      step.why = "stopped";
      step.lost = false;
      stopped.emplace(now_, std::move(step));
    }
    running_ = std::move(stopped);
  }

 private:
  [[nodiscard]] std::int64_t group_seconds(Stage stage) const {
    constexpr std::int64_t kRound = 300;
    return stage == Stage::soak ? kRound : nodes_.seconds_of(0, stage);
  }

  // Restores the state at the end of the record.
  void recall(const Results& so_far) {
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < order_.nodes.size(); ++i) places[order_.nodes[i].name] = i;
    std::vector<std::int64_t> heard(histories_.size());
    for (const auto& attempt : so_far.attempts) {
      const auto node = places.at(attempt.node);
      auto& history = histories_[node];
      now_ = std::max({now_, attempt.started, attempt.ended});
      if (attempt.end == AttemptEnd::lost && attempt.boot_id.empty()) {
        lose(node, attempt.ended);
      } else if (attempt.end != AttemptEnd::running && attempt.end != AttemptEnd::interrupted) {
        ++history.answered[index_of(attempt.stage)];
        if (attempt.stage == Stage::soak) history.loaded_s += attempt.seconds;
        heard[node] = std::max(heard[node], attempt.ended);
      }
    }
    for (const auto& attempt : so_far.groups) {
      now_ = std::max({now_, attempt.started, attempt.ended});
      for (const auto& name : attempt.lost) lose(places.at(name), attempt.ended);
      const bool answered = attempt.end == AttemptEnd::pass || attempt.end == AttemptEnd::warn ||
                            attempt.end == AttemptEnd::fail;
      if (answered) ++group_answers_[index_of(attempt.stage)];
    }
    for (const auto& decision : so_far.decisions) now_ = std::max(now_, decision.at + 1);
    for (std::size_t i = 0; i < heard.size(); ++i) {
      if (heard[i] > histories_[i].lost_at) histories_[i].lost_at = 0;
    }
  }

  void lose(std::size_t node, std::int64_t at) {
    auto& history = histories_[node];
    ++history.losses;
    history.lost_at = std::max(history.lost_at, at);
  }

  // Returns when a lost node answers again.
  [[nodiscard]] std::int64_t back_at(std::size_t node) const {
    constexpr std::int64_t kMinuteLong = 60;
    const auto& history = histories_[node];
    if (history.lost_at == 0) return 0;
    const auto* const returns = words_.fault(node, FaultKind::returns);
    if (returns == nullptr || words_.fault(node, FaultKind::silent) != nullptr) return kNever;
    return history.lost_at + kMinuteLong * static_cast<std::int64_t>(returns->first);
  }

  void end(EndedStep& ended) {
    if (!ended.why.empty()) return;
    if (ended.node) return end_node(*ended.node, ended);
    for (const auto node : ended.lost_nodes) {
      if (back_at(node) <= now_) lose(node, now_);
    }
    if (!ended.lost_nodes.empty()) {
      ended.why = fmt::format("{} stopped answering", order_.nodes[ended.lost_nodes.front()].name);
      return;
    }
    const auto stage = ended.group->stage;
    ended.answer = groups_.answer(ended.group->nodes, stage, group_answers_[index_of(stage)]++,
                                  now_, static_cast<double>(group_seconds(stage)));
  }

  void end_node(const NodeStart& step, EndedStep& ended) {
    auto& history = histories_[step.node];
    const auto& name = order_.nodes[step.node].name;
    if (ended.lost) {
      if (back_at(step.node) <= now_) lose(step.node, now_);
      ended.why = fmt::format("{} stopped answering", name);
      return;
    }
    auto answer = nodes_.answer(step.node, step.stage, history, now_);
    if (!arrives(step, answer, ended)) return;
    ++history.answered[index_of(step.stage)];
    history.lost_at = 0;
    if (step.stage == Stage::soak) history.loaded_s += answer.seconds;
    ended.answer = std::move(answer);
  }

  // Passes the answer as a framed line through a shell with a login banner, or a connection that
  // breaks.
  [[nodiscard]] bool arrives(const NodeStart& step, StepAnswer& answer, EndedStep& ended) const {
    const bool greets = words_.fault(step.node, FaultKind::greets) != nullptr;
    const bool cut = words_.fault(step.node, FaultKind::cut) != nullptr && step.number == 1;
    if (!greets && !cut) return true;
    const auto& name = order_.nodes[step.node].name;
    auto text = frame(name, to_json_line(answer));
    if (cut) text.resize(text.size() / 2);
    if (greets) {
      text = fmt::format("Welcome to {0}\nmuster1 is not installed\n{1}Goodbye\n", name, text);
    }
    auto content = unframe(name, text);
    auto read = content ? from_json<StepAnswer>(*content) : tl::unexpected(content.error());
    if (read) {
      answer = *std::move(read);
    } else {
      ended.why = read.error().message;
    }
    return ended.why.empty();
  }

  const Order order_;
  const sim::FleetWords words_;
  const sim::SimNodes nodes_;
  const sim::SimGroups groups_;
  std::int64_t now_;
  std::vector<NodeHistory> histories_;
  std::array<std::int64_t, kStageWords.size()> group_answers_{};  // by stage
  std::multimap<std::int64_t, EndedStep> running_;                // by when they end
};

}  // namespace

Result<std::unique_ptr<Fleet>> make_sim_fleet(const Order& order, std::string_view words,
                                              const Results& so_far) {
  TRY_ASSIGN(auto parsed, sim::parse_words(order, words));
  return std::make_unique<SimFleet>(order, std::move(parsed), so_far);
}

}  // namespace muster::accept
