// SPDX-License-Identifier: Apache-2.0
// Decides which attempts start: single nodes at once, groups as soon as every node that can still
// come has come, and none while one cause may be behind many failures.
#include "lib/accept/next.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "lib/accept/fold.hpp"
#include "lib/accept/step.hpp"

namespace muster::accept {
namespace {

using Event = std::variant<const Attempt*, const GroupAttempt*, const Decision*>;

// The attempts of a node follow one another; a decision applies to every attempt that began before
// it.
struct EventOrder {
  std::int64_t at;
  bool is_decision;
  Stage stage;
  std::int64_t number;

  auto operator<=>(const EventOrder&) const = default;
};

EventOrder order_of(const Event& event) {
  if (const auto* const* decision = std::get_if<const Decision*>(&event)) {
    return {(*decision)->at, true, Stage::inventory, 0};
  }
  if (const auto* const* attempt = std::get_if<const Attempt*>(&event)) {
    return {(*attempt)->started, false, (*attempt)->stage, (*attempt)->number};
  }
  const auto* group = std::get<const GroupAttempt*>(event);
  return {group->started, false, group->stage, group->number};
}

class Planner {
 public:
  Planner(const Order& order, const Results& results, const std::vector<bool>& reachable,
          std::int64_t now)
      : order_(order), results_(results), reachable_(reachable), now_(now) {
    fold();
    compare_inventories();
    trip_breakers();
  }

  Actions plan() {
    start_fabric_or_whole(Stage::fabric);
    start_fabric_or_whole(Stage::whole);
    start_round();
    start_nodes();
    finish();
    return std::move(actions_);
  }

 private:
  using Nodes = std::vector<std::size_t>;

  void fold() {
    const auto& nodes = order_.nodes;
    std::vector<std::vector<Event>> events(nodes.size());
    std::unordered_map<std::string_view, std::size_t> index;
    std::size_t last = 0;
    const auto add = [&](const std::string& name, Event event) {
      // On record, the attempts of a node are mostly next to each other, or the nodes are in order.
      if (nodes[last].name != name && (++last == nodes.size() || nodes[last].name != name)) {
        for (std::size_t i = index.size(); i < nodes.size(); ++i) index.emplace(nodes[i].name, i);
        const auto found = index.find(name);
        last = found == index.end() ? 0 : found->second;
        if (found == index.end()) return;
      }
      events[last].push_back(event);
    };
    for (const auto& attempt : results_.attempts) add(attempt.node, &attempt);
    for (const auto& group : results_.groups) {
      for (const auto& name : group.nodes) add(name, &group);
    }
    for (const auto& decision : results_.decisions) {
      if (decision.kind == DecisionKind::go_on) overridden_.insert(decision.check);
      for (const auto& name : decision.nodes) add(name, &decision);
    }
    folds_.reserve(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::ranges::stable_sort(events[i], {}, order_of);  // decisions are in order
      auto& node = folds_.emplace_back(order_.plan, overridden_, nodes.size() == 1);
      for (const auto& event : events[i]) take(node, event, nodes[i].name);
      node.finish();
    }
  }

  static void take(NodeFold& node, const Event& event, const std::string& name) {
    if (const auto* const* attempt = std::get_if<const Attempt*>(&event)) {
      node.take(**attempt);
    } else if (const auto* const* group = std::get_if<const GroupAttempt*>(&event)) {
      node.take(**group, name);
    } else {
      node.take(*std::get<const Decision*>(event));
    }
  }

  // Holds nodes that share a serial number, and nodes whose profile differs from their group's.
  void compare_inventories() {
    std::vector<std::pair<std::size_t, SerialOwner>> owners;  // by hash: tens of thousands
    std::map<std::string_view, std::map<std::string_view, std::size_t>> profiles;
    for (std::size_t i = 0; i < folds_.size(); ++i) {
      const auto* inventory = folds_[i].inventory();
      if (inventory == nullptr || folds_[i].standing().verdict == NodeVerdict::withdrawn) continue;
      ++profiles[order_.nodes[i].group][inventory->profile];
      for (const auto& serial : inventory->serials) {
        owners.push_back({std::hash<std::string_view>()(serial), {i, &serial}});
      }
    }
    hold_for_serials(std::move(owners));
    for (std::size_t i = 0; i < folds_.size(); ++i) {
      const auto* inventory = folds_[i].inventory();
      if (inventory == nullptr) continue;
      const auto& group = profiles[order_.nodes[i].group];
      if (group.size() < 2) continue;
      const auto usual =
          std::ranges::max_element(group, {}, [](const auto& p) { return p.second; });
      if (2 * group.at(inventory->profile) >= usual->second) continue;
      folds_[i].hold({.node = order_.nodes[i].name,
                      .check = std::string(kProfileCheck),
                      .device = "node",
                      .message = fmt::format("profile {}, expected {}, as {} other nodes have",
                                             inventory->profile, usual->first, usual->second)},
                     Stage::inventory);
    }
  }

  struct SerialOwner {
    std::size_t node;
    const std::string* serial;

    auto operator<=>(const SerialOwner&) const = default;
  };

  void hold_for_serials(std::vector<std::pair<std::size_t, SerialOwner>> owners) {
    // Almost all serials differ, so leaves out those whose last bits of the hash occur only once.
    const auto last_bits = std::bit_ceil(16 * owners.size() + 1) - 1;
    std::vector<bool> once(last_bits + 1), twice(last_bits + 1);
    for (const auto& [hash, owner] : owners) {
      auto& seen = once[hash & last_bits] ? twice : once;
      seen[hash & last_bits] = true;
    }
    std::erase_if(owners, [&](const auto& owner) { return !twice[owner.first & last_bits]; });
    std::ranges::sort(owners, {},
                      [](const auto& owner) { return std::pair(owner.first, owner.second.node); });
    for (std::size_t i = 0; i + 1 < owners.size(); ++i) {
      const auto& [hash, owner] = owners[i];
      for (std::size_t k = i + 1; k < owners.size() && owners[k].first == hash; ++k) {
        const auto& other = owners[k].second;
        if (other.node == owner.node || *other.serial != *owner.serial) continue;
        hold_for_serial(other.node, owner.node, *owner.serial);
        hold_for_serial(owner.node, other.node, *owner.serial);
      }
    }
  }

  void hold_for_serial(std::size_t node, std::size_t other, const std::string& serial) {
    folds_[node].hold(
        {.node = order_.nodes[node].name,
         .check = std::string(kSerialCheck),
         .device = "node",
         .message = fmt::format("{} has the same serial {}", order_.nodes[other].name, serial)},
        Stage::inventory);
  }

  // Finds groups in which many nodes fail one check at one stage.
  void trip_breakers() {
    std::map<std::string_view, std::size_t> sizes;
    std::map<std::tuple<std::string_view, Stage, std::string>, std::set<std::size_t>> failing;
    for (std::size_t i = 0; i < folds_.size(); ++i) {
      const auto& standing = folds_[i].standing();
      if (standing.verdict == NodeVerdict::withdrawn) continue;
      const std::string_view group = order_.nodes[i].group;
      ++sizes[group];
      for (const auto* causes : {&standing.causes, &folds_[i].suspected()}) {
        for (const auto& cause : *causes) failing[{group, standing.stage, cause.check}].insert(i);
      }
    }
    const auto& plan = order_.plan;
    for (const auto& [key, nodes] : failing) {
      const auto& [group, stage, check] = key;
      const auto size = sizes[group];
      const bool many =
          static_cast<std::int64_t>(nodes.size()) >= plan.breaker_nodes &&
          static_cast<double>(nodes.size()) > plan.breaker_share * static_cast<double>(size);
      if (!many || overridden_.contains(check)) continue;
      Breaker breaker{.stage = stage, .check = check, .group = std::string(group), .of = size};
      for (const auto i : nodes) {
        breaker.nodes.push_back(order_.nodes[i].name);
        hold(folds_[i].standing(), breaker, nodes.size());
      }
      stopped_.insert(stage);
      actions_.breakers.push_back(std::move(breaker));
    }
  }

  // One cause may be behind all of these failures, so no node is rejected for it.
  static void hold(NodeStanding& standing, const Breaker& breaker, std::size_t count) {
    standing.verdict = NodeVerdict::held;
    standing.charge = Charge::open;
    standing.why = fmt::format(
        "{} of {} nodes fail {} in stage {}: one cause? look at the limit, "
        "the image or the fabric",
        count, breaker.of, breaker.check, to_string(breaker.stage));
  }

  [[nodiscard]] bool is_idle(std::size_t i) const {
    const auto& standing = folds_[i].standing();
    return !standing.running && !standing.lost && reachable_[i] && !used_.contains(i) &&
           folds_[i].not_before() <= now_;
  }

  [[nodiscard]] bool is_ready(std::size_t i, Stage stage) const {
    const auto& standing = folds_[i].standing();
    return !is_final(standing) && standing.stage == stage && is_idle(i);
  }

  void wake_at(std::int64_t at) {
    if (at > now_ && (!actions_.wake || at < *actions_.wake)) actions_.wake = at;
  }

  void start_group(Stage stage, Nodes nodes) {
    std::int64_t number = 1;
    for (const auto& group : results_.groups) {
      if (group.stage == stage) number = std::max(number, group.number + 1);
    }
    std::ranges::sort(nodes);
    used_.insert(nodes.begin(), nodes.end());
    actions_.groups.push_back({.stage = stage, .number = number, .nodes = std::move(nodes)});
  }

  // Whether a node that is not ready for `stage` may still become ready.
  [[nodiscard]] bool may_come(std::size_t i, Stage stage) const {
    const auto& standing = folds_[i].standing();
    return !is_final(standing) && standing.stage <= stage;
  }

  // Returns up to `wanted` nodes that have passed `stage`, to retest others with. Returns nothing
  // if more of them are still busy, and reserves the idle ones until then.
  std::optional<Nodes> proven_partners(Stage stage, std::size_t wanted) {
    Nodes idle;
    std::size_t busy = 0;
    for (std::size_t i = 0; i < folds_.size() && idle.size() < wanted; ++i) {
      if (!folds_[i].is_proven(stage) || !reachable_[i]) continue;
      if (is_idle(i)) idle.push_back(i);
      if (folds_[i].standing().running) ++busy;
    }
    if (busy == 0 || idle.size() == wanted) return idle;
    used_.insert(idle.begin(), idle.end());
    return std::nullopt;
  }

  void start_fabric_or_whole(Stage stage) {
    if (stopped_.contains(stage) || folds_.size() == 1) return;
    Nodes ready, suspects;
    std::int64_t first = now_;
    bool more = false;
    for (std::size_t i = 0; i < folds_.size(); ++i) {
      if (!is_ready(i, stage)) {
        more = more || may_come(i, stage);
        continue;
      }
      ready.push_back(i);
      if (folds_[i].is_suspect()) suspects.push_back(i);
      first = std::min(first, folds_[i].joined());
    }
    if (ready.empty()) return;
    // A suspect is retested at once; the others wait for those that may still come.
    if (suspects.empty() && more && now_ < first + order_.plan.wait_s) {
      return wake_at(first + order_.plan.wait_s);
    }
    if (stage == Stage::fabric && !suspects.empty() && retest(suspects)) return;
    if (ready.size() == 1) return start_with_proven(stage, ready.front());
    start_group(stage, std::move(ready));
  }

  // Retests suspects with proven nodes, or waits for proven nodes. Returns false if there are none.
  bool retest(Nodes suspects) {
    const auto wanted = static_cast<std::size_t>(order_.plan.partners) * suspects.size();
    const auto partners = proven_partners(Stage::fabric, wanted);
    if (!partners) return true;
    if (partners->empty()) return false;
    suspects.insert(suspects.end(), partners->begin(), partners->end());
    start_group(Stage::fabric, std::move(suspects));
    return true;
  }

  void start_with_proven(Stage stage, std::size_t node) {
    auto nodes = proven_partners(stage, static_cast<std::size_t>(order_.plan.partners));
    if (!nodes) return;
    nodes->push_back(node);
    if (nodes->size() > 1) return start_group(stage, *std::move(nodes));
    for (std::size_t i = 0; i < folds_.size(); ++i) {
      if (i != node && (may_come(i, stage) || folds_[i].is_proven(stage))) return;
    }
    auto& fold = folds_[node];
    if (fold.is_suspect()) return fold.hold(fold.suspected().front(), stage);
    fold.leave_untested(fmt::format("no other node is left for the stage {}", to_string(stage)));
  }

  // Starts the all-reduce of all nodes in the soak.
  void start_round() {
    Nodes waiting;
    std::int64_t first = now_;
    bool others = false;
    for (std::size_t i = 0; i < folds_.size(); ++i) {
      const auto& standing = folds_[i].standing();
      if (is_final(standing) || standing.stage != Stage::soak || used_.contains(i)) continue;
      if (!folds_[i].wants_round() || !is_idle(i)) {
        others = others || standing.running || (reachable_[i] && !folds_[i].wants_round());
        continue;
      }
      waiting.push_back(i);
      first = std::min(first, standing.since);
    }
    if (waiting.empty() || (!others && waiting.size() == 1)) return;
    // A longer wait would be a gap, after which the soak begins again.
    const auto patience = std::min(2 * order_.plan.slice_s, order_.plan.gap_s / 2);
    if (others && now_ < first + patience) {
      used_.insert(waiting.begin(), waiting.end());
      return wake_at(first + patience);
    }
    if (waiting.size() > 1 && !stopped_.contains(Stage::soak)) {
      start_group(Stage::soak, std::move(waiting));
    }
  }

  void start_nodes() {
    for (std::size_t i = 0; i < folds_.size(); ++i) {
      auto& standing = folds_[i].standing();
      if (is_final(standing) || standing.running || used_.contains(i)) continue;
      if (standing.lost && folds_[i].is_silent()) wake_at(standing.since + order_.plan.return_s);
      wake_at(folds_[i].not_before());
      // The only node of an order goes from the node stage to the soak.
      const bool alone = folds_.size() == 1 && is_group_stage(standing.stage);
      const auto stage = alone ? Stage::soak : standing.stage;
      if (is_group_stage(stage) || stopped_.contains(stage)) continue;
      if (!reachable_[i] && !folds_[i].is_overdue(now_)) continue;
      if (folds_[i].not_before() > now_) continue;
      standing.ready = true;
      actions_.nodes.push_back({.node = i, .stage = stage, .number = folds_[i].next_number(stage)});
    }
  }

  void finish() {
    actions_.complete = actions_.breakers.empty();
    actions_.standings.reserve(folds_.size());
    for (auto& node : folds_) {
      actions_.complete = actions_.complete && is_final(node.standing());
      actions_.standings.push_back(std::move(node.standing()));
    }
  }

  const Order& order_;
  const Results& results_;
  const std::vector<bool>& reachable_;
  std::int64_t now_;
  std::set<std::string> overridden_;  // checks
  std::vector<NodeFold> folds_;
  std::set<Stage> stopped_;
  std::set<std::size_t> used_;  // by a group, or reserved for one
  Actions actions_;
};

}  // namespace

Actions next(const Order& order, const Results& results, const std::vector<bool>& reachable,
             std::int64_t now) {
  return Planner(order, results, reachable, now).plan();
}

}  // namespace muster::accept
