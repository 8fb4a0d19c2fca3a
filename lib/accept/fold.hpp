// SPDX-License-Identifier: Apache-2.0
// The current state of one node, folded from its attempts in the order in which they began.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/accept/next.hpp"

namespace muster::accept {

class NodeFold {
 public:
  // `overridden`: checks whose breaker an admin overrode. `alone`: it is the only node of its
  // order, and goes from the node stage to the soak.
  NodeFold(const Plan& plan, const std::set<std::string>& overridden, bool alone)
      : plan_(&plan), overridden_(&overridden), alone_(alone) {}

  void take(const Attempt& attempt);
  // Takes the attempt of a group that the node took part in. `name` is the node's name.
  void take(const GroupAttempt& attempt, const std::string& name);
  void take(const Decision& decision);
  // Holds the node for a failure at a stage that only shows when nodes are compared.
  void hold(const Cause& cause, Stage stage);
  void leave_untested(std::string why);
  // Gives up on a node that was lost and did not answer when it was asked after return_s.
  void finish();

  [[nodiscard]] const NodeStanding& standing() const { return standing_; }

  [[nodiscard]] NodeStanding& standing() { return standing_; }

  // The last inventory that the node sent; null if there is none.
  [[nodiscard]] const Attempt* inventory() const { return inventory_; }

  // The causes of the last attempt while they wait for a retest.
  [[nodiscard]] const std::vector<Cause>& suspected() const { return suspected_; }

  // The node failed or was named once, and waits for a retest to confirm it.
  [[nodiscard]] bool is_suspect() const { return !suspected_.empty(); }

  // The node passed its last fabric and whole stages, so it can help to retest others.
  [[nodiscard]] bool is_proven(Stage stage) const {
    return proven_[static_cast<std::size_t>(stage)];
  }

  // It has soaked long enough for the next all-reduce of all nodes.
  [[nodiscard]] bool wants_round() const;

  [[nodiscard]] std::int64_t next_number(Stage stage) const {
    return numbers_[static_cast<std::size_t>(stage)] + 1;
  }

  [[nodiscard]] std::int64_t not_before() const { return not_before_; }

  // For a lost node: whether it gave no answer when last asked, rather than being interrupted.
  [[nodiscard]] bool is_silent() const { return interruptions_ == 0; }

  // A lost node must be asked once more before it is given up, even if it cannot be reached.
  [[nodiscard]] bool is_overdue(std::int64_t now) const {
    return standing_.lost && is_silent() && now >= standing_.since + plan_->return_s;
  }

  // When it first became ready for a group, which may wait for others.
  [[nodiscard]] std::int64_t joined() const { return joined_; }

 private:
  struct Count {
    std::string check, device;
    std::int64_t times = 0;
  };

  void begin(Stage stage, std::int64_t at);
  void advance(std::int64_t at);
  void lose(const std::string& why, std::int64_t at);
  void interrupt(const std::string& why, std::int64_t at);
  void soak(const Attempt& attempt);
  void soak_event(const std::vector<Cause>& causes, std::int64_t at);
  void judge(const std::vector<Cause>& causes, std::int64_t at);
  void judge_whole(const GroupAttempt& attempt);
  void refuse(const std::string& why, const std::vector<Cause>& causes, std::int64_t at);
  void settle(NodeVerdict verdict, Charge charge, std::string why, std::vector<Cause> causes);
  void settle(const std::vector<Cause>& causes);
  void remark(const std::vector<Cause>& causes, std::string_view note = {});
  [[nodiscard]] bool is_by_majority(const Cause& cause) const;
  [[nodiscard]] std::int64_t needed(const Cause& cause) const;
  [[nodiscard]] std::int64_t count(const Cause& cause);

  const Plan* plan_;
  const std::set<std::string>* overridden_;
  bool alone_;
  const Attempt* inventory_ = nullptr;
  NodeStanding standing_{};
  std::array<std::int64_t, kStageWords.size()> numbers_{};
  std::array<bool, kStageWords.size()> proven_{};
  // Counted since the current stage began.
  std::vector<Count> counts_;
  std::vector<Cause> suspected_;  // in the last run
  std::vector<Cause> failed_;     // in any run
  std::int64_t runs_ = 0, uncertain_ = 0, whole_fails_ = 0, slice_ended_ = 0;
  // Counted since the last retest.
  std::int64_t losses_ = 0, events_ = 0, rounds_ = 0, not_before_ = 0;
  std::int64_t asked_ = 0, joined_ = 0;
  int interruptions_ = 0;  // in a row
  bool answered_ = false, located_again_ = false;
  std::string boot_;
};

}  // namespace muster::accept
