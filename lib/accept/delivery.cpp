// SPDX-License-Identifier: Apache-2.0
#include "lib/accept/delivery.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "lib/accept/node_claim.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/json_write.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::accept {
namespace {

constexpr double kLoadHour = 3600;
constexpr double kLoadDay = 24 * kLoadHour;

// Returns an empty string for an unknown time.
std::string utc_text(std::int64_t at) {
  constexpr std::int64_t kYear10000 = 253'402'300'800;
  if (at <= 0 || at >= kYear10000) return "";
  return utc(at);
}

std::string to_line(const std::vector<Cause>& causes) {
  std::string text;
  for (const auto& cause : causes) {
    text += fmt::format("{}{}", text.empty() ? "" : "; ", accept::to_line(cause));
  }
  return text;
}

DeliveryCounts counts_of(const std::vector<NodeStanding>& standings) {
  DeliveryCounts counts{.ordered = std::ssize(standings)};
  for (const auto& standing : standings) {
    switch (standing.verdict) {
      case NodeVerdict::remarks:
        ++counts.with_remarks;
        [[fallthrough]];
      case NodeVerdict::accepted:
        ++counts.accepted;
        break;
      case NodeVerdict::rejected:
        ++counts.rejected;
        break;
      case NodeVerdict::held:
        ++counts.held;
        break;
      case NodeVerdict::not_tested:
        ++counts.not_tested;
        break;
      case NodeVerdict::withdrawn:
        ++counts.withdrawn;
        break;
      case NodeVerdict::pending:
        ++counts.pending;
        break;
    }
  }
  return counts;
}

Confidence soak_of(const Plan& plan, const std::vector<NodeStanding>& standings) {
  std::int64_t nodes = 0, seconds = 0, failures = 0;
  for (const auto& standing : standings) {
    nodes += standing.loaded_s > 0 ? 1 : 0;
    seconds += standing.loaded_s;
    failures += standing.soak_events;
  }
  return confidence_of(plan, nodes, static_cast<double>(seconds) / kLoadDay, failures);
}

std::vector<TermResult> terms_of(const Plan& plan, const DeliveryCounts& counts,
                                 const Confidence& soak) {
  constexpr double kRounding = 1e-9;
  const auto terms = plan.terms.value_or(Terms{});
  const auto least = static_cast<std::int64_t>(
      std::ceil(terms.accepted_at_least * static_cast<double>(counts.ordered) - kRounding));
  std::vector<TermResult> lines{
      {.term = fmt::format("at least {} of {} nodes are accepted", least, counts.ordered),
       .reached = fmt::format("{} of {}", counts.accepted, counts.ordered),
       .met = counts.accepted >= least}};
  if (!plan.terms) return lines;
  const auto allowed = allowed_failures(terms, soak.node_days);
  lines.push_back(
      {.term = fmt::format("failures of a good delivery: {:.4g} per 1000 node-days, of a bad one "
                           "{:.4g}; risk of either party {:.3g}%",
                           terms.good_rate, terms.bad_rate, 100 * terms.risk),
       .reached = allowed ? fmt::format("{} in {:.1f} node-days, at most {} allowed", soak.failures,
                                        soak.node_days, *allowed)
                          : fmt::format("{:.1f} node-days cannot show it; that takes {:.0f}",
                                        soak.node_days, soak_need(terms).node_days),
       .met = allowed && soak.failures <= *allowed});
  return lines;
}

class DeliveryMaker {
 public:
  DeliveryMaker(const Order& order, const Results& results, const Actions& actions,
                const std::vector<NodeFacts>& facts, const GroupFacts& group)
      : order_(order),
        results_(results),
        standings_(actions.standings),
        facts_(facts),
        group_(group),
        attempts_(order.nodes.size()) {
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < order.nodes.size(); ++i) places[order.nodes[i].name] = i;
    for (const auto& attempt : results.attempts) {
      const auto place = places.find(attempt.node);
      if (place != places.end()) attempts_[place->second].push_back(&attempt);
    }
    for (auto& attempts : attempts_) {
      std::ranges::sort(attempts, {}, [](const Attempt* each) {
        return std::tuple(each->started, each->stage, each->number);
      });
    }
    for (const auto& attempt : results.groups) {
      groups_.push_back(&attempt);
      for (const auto& cause : attempt.causes) named_.insert({cause.node, cause.other});
      named_.insert(attempt.lost.begin(), attempt.lost.end());
    }
    std::ranges::sort(groups_, {}, [](const GroupAttempt* each) {
      return std::tuple(each->started, each->stage, each->number);
    });
  }

  // Counts faults by how many hours of load the node had seen.
  [[nodiscard]] std::vector<std::int64_t> faults_by_hour() const {
    std::vector<std::int64_t> faults;
    for (const auto& attempts : attempts_) {
      double loaded_s = 0;
      for (const auto* attempt : attempts) {
        if (attempt->stage != Stage::soak) continue;
        const auto hour = static_cast<std::size_t>(loaded_s / kLoadHour);
        if (hour >= faults.size()) faults.resize(hour + 1);
        const bool fault = attempt->end == AttemptEnd::fail || attempt->end == AttemptEnd::lost;
        if (fault) ++faults[hour];
        loaded_s += std::clamp(attempt->seconds, 0.0, kLoadDay);
      }
    }
    return faults;
  }

  [[nodiscard]] std::vector<NodeCard> cards() const {
    std::vector<NodeCard> cards;
    for (const auto verdict : {NodeVerdict::rejected, NodeVerdict::held, NodeVerdict::not_tested,
                               NodeVerdict::withdrawn}) {
      for (std::size_t i = 0; i < standings_.size(); ++i) {
        if (standings_[i].verdict == verdict) cards.push_back(card(i));
      }
    }
    return cards;
  }

  [[nodiscard]] std::vector<NodeRow> rows(const std::vector<DeliveryQuantity>& quantities) const {
    std::vector<NodeRow> rows;
    for (std::size_t i = 0; i < standings_.size(); ++i) {
      const auto& standing = standings_[i];
      const auto& facts = facts_[i];
      NodeRow row{.node = order_.nodes[i].name,
                  .verdict = standing.verdict,
                  .stage = standing.stage,
                  .why = standing.why,
                  .group = order_.nodes[i].group,
                  .physical_host = facts.physical_host,
                  .soak_hours = static_cast<double>(standing.loaded_s) / kLoadHour};
      const auto board = std::ranges::find(facts.parts, "board", &Part::kind);
      if (board != facts.parts.end()) row.serial = board->serial;
      for (const auto& quantity : quantities) {
        const auto fact = std::ranges::find(facts.quantities, quantity.name, &QuantityFact::name);
        const bool known = fact != facts.quantities.end();
        row.values.push_back(known ? std::optional(fact->value) : std::nullopt);
      }
      for (const auto& remark : standing.remarks) row.remarks.push_back(accept::to_line(remark));
      rows.push_back(std::move(row));
    }
    return rows;
  }

  [[nodiscard]] std::vector<DeliveryQuantity> quantities() const {
    std::map<std::string, DeliveryQuantity> all;
    std::map<std::string, std::vector<std::pair<double, std::size_t>>> values;
    std::set<std::string> profiles;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      if (!facts_[i].profile.empty()) profiles.insert(facts_[i].profile);
      for (const auto& fact : facts_[i].quantities) {
        auto& quantity = all[fact.name];
        quantity.name = fact.name;
        quantity.unit = fact.unit;
        quantity.more_is_better = !less_is_better(fact.unit);
        if (!quantity.limit) quantity.limit = fact.limit;
        values[fact.name].emplace_back(fact.value, i);
      }
    }
    std::vector<DeliveryQuantity> quantities;
    for (auto& [name, quantity] : all) {
      if (profiles.size() == 1) add_fleet_limit(quantity, values[name]);
      quantities.push_back(std::move(quantity));
    }
    return quantities;
  }

  [[nodiscard]] std::vector<WholeRound> whole() const {
    std::vector<WholeRound> rounds;
    for (const auto* attempt : groups_) {
      if (attempt->stage == Stage::fabric || attempt->end == AttemptEnd::running) continue;
      rounds.push_back({.number = std::ssize(rounds) + 1,
                        .stage = attempt->stage,
                        .at = utc_text(attempt->ended),
                        .nodes = std::ssize(attempt->nodes),
                        .end = attempt->end,
                        .busbw_gbps = attempt->busbw_gbps});
    }
    return rounds;
  }

  // Collects the versions that most nodes of each group have, and the nodes that differ.
  void add_stacks(Delivery& delivery) const {
    using Nodes = std::vector<std::string>;
    std::map<std::string, std::map<std::string, std::map<std::string, Nodes>>> versions;
    std::map<std::string, std::int64_t> sizes;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      const auto& [name, host, serial, group] = order_.nodes[i];
      if (!facts_[i].stack.empty()) ++sizes[group];
      for (const auto& [what, version] : facts_[i].stack)
        versions[group][what][version].push_back(name);
    }
    for (auto& [group, of_group] : versions) {
      auto& stack = delivery.stacks.emplace_back();
      stack.group = group;
      stack.nodes = sizes[group];
      for (auto& [what, nodes_by_version] : of_group) {
        const auto usual = std::ranges::max_element(
            nodes_by_version, {}, [](const auto& each) { return each.second.size(); });
        stack.versions[what] = usual->first;
        for (auto& [version, nodes] : nodes_by_version) {
          if (version == usual->first) continue;
          delivery.differing.push_back(
              {.what = what, .version = version, .usual = usual->first, .nodes = std::move(nodes)});
        }
      }
    }
  }

  [[nodiscard]] std::vector<DeliveryGap> not_observed() const {
    std::map<std::tuple<bool, std::string, std::string>, std::vector<std::string>> nodes;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      for (const auto& gap : facts_[i].not_observed) {
        nodes[{!gap.required, gap.what, gap.reason}].push_back(order_.nodes[i].name);
      }
    }
    std::vector<DeliveryGap> gaps;
    for (const auto stage : {Stage::fabric, Stage::whole, Stage::soak}) {
      const bool ran =
          is_group_stage(stage)
              ? std::ranges::any_of(groups_, [&](auto* each) { return each->stage == stage; })
              : std::ranges::any_of(standings_, [](auto& each) { return each.loaded_s > 0; });
      if (ran) continue;
      gaps.push_back({.what = fmt::format("stage {}", to_string(stage)),
                      .reason = "no node took part in it",
                      .nodes = {}});
    }
    for (auto& [gap, names] : nodes) {
      const auto& [optional, what, reason] = gap;
      gaps.push_back(
          {.what = what, .reason = reason, .required = !optional, .nodes = std::move(names)});
    }
    return gaps;
  }

  [[nodiscard]] std::vector<Override> overridden() const {
    std::vector<Override> all;
    for (const auto& each : results_.decisions) {
      const auto nodes = fold_hostlist(each.nodes);
      auto what = each.kind == DecisionKind::go_on
                      ? fmt::format("went on although many nodes fail {}", each.check)
                  : each.kind == DecisionKind::retest ? fmt::format("tested again: {}", nodes)
                                                      : fmt::format("withdrawn: {}", nodes);
      all.push_back(
          {.what = std::move(what), .why = each.why, .who = each.who, .at = utc_text(each.at)});
    }
    const auto& plan = order_.plan;
    for (const auto& each : plan.settings) all.push_back({.what = fmt::format("--set {}", each)});
    if (!plan.profile.empty()) all.push_back({.what = fmt::format("--profile {}", plan.profile)});
    const auto named = shipped_plan(plan.name);
    const auto shipped = named ? *named : *shipped_plan("standard");
    for_each_field<Plan>([&](const auto& field) {
      constexpr std::array<std::string_view, 4> kOthers{"name", "profile", "settings", "terms"};
      const auto& value = plan.*field.member;
      const auto& usual = shipped.*field.member;
      if (std::ranges::count(kOthers, field.name) > 0 || value == usual) return;
      all.push_back({.what = fmt::format("plan: {} is {}, not {}", field.name, to_json_line(value),
                                         to_json_line(usual))});
    });
    return all;
  }

 private:
  // Needs values of at least 32 nodes of one profile. Measures their spread on the side of the
  // median where no faults are.
  void add_fleet_limit(DeliveryQuantity& quantity,
                       const std::vector<std::pair<double, std::size_t>>& values) const {
    const OutlierRule rule{
        .share = 0.03, .fewest = 32, .side = quantity.more_is_better ? Side::below : Side::above};
    std::vector<double> numbers;
    for (const auto& [value, node] : values) numbers.push_back(value);
    if (numbers.size() < rule.fewest) return;
    const auto spread = one_sided_spread_of(numbers, rule.side);
    quantity.fleet_limit = outlier_limit(spread, rule);
    for (const auto& [value, node] : values) {
      if (is_outlier(value, spread, rule)) quantity.slow.push_back(order_.nodes[node].name);
    }
  }

  [[nodiscard]] NodeCard card(std::size_t node) const {
    const auto& standing = standings_[node];
    const auto& facts = facts_[node];
    NodeCard card{.node = order_.nodes[node].name,
                  .verdict = standing.verdict,
                  .charge = standing.charge,
                  .stage = standing.stage,
                  .why = standing.why,
                  .host = facts.host,
                  .physical_host = facts.physical_host,
                  .ordered_host = order_.nodes[node].host,
                  .profile = facts.profile,
                  .kernel_lines = facts.kernel_lines};
    for (const auto& cause : standing.causes) card.causes.push_back(card_cause(cause, facts));
    std::ranges::copy_if(facts.parts, std::back_inserter(card.parts), [&](const Part& part) {
      return std::ranges::count(card.causes, part.device, &CardCause::device) > 0;
    });
    if (card.parts.empty() && card.verdict == NodeVerdict::rejected) card.parts = facts.parts;
    add_attempts(card, node);
    if (card.verdict == NodeVerdict::held && card.stage == Stage::inventory) {
      fail_inventory(card, standing.causes);
    }
    if (card.verdict == NodeVerdict::rejected) card.claim = claim_of(card);
    return card;
  }

  [[nodiscard]] CardCause card_cause(const Cause& cause, const NodeFacts& facts) const {
    CardCause shown{.check = cause.check,
                    .device = cause.device,
                    .message = cause.message,
                    .observed = cause.observed,
                    .limit = cause.limit,
                    .unit = cause.unit,
                    .remedy = cause.remedy,
                    .other = cause.other};
    if (cause.check.starts_with("accept.")) {
      shown.source = "order";
    } else if (cause.message.find("--set)") != std::string::npos) {
      shown.source = "--set";
    } else if (!std::holds_alternative<std::monostate>(cause.limit) && !facts.profile.empty()) {
      shown.source = fmt::format("profile {}", facts.profile);
    }
    for (const auto* categories : {&facts.categories, &group_.categories}) {
      for (const auto& each : *categories) {
        if (each.check == cause.check && each.device == cause.device)
          shown.category = each.category;
      }
    }
    return shown;
  }

  // A comparison with other nodes fails an inventory that passed by itself.
  static void fail_inventory(NodeCard& card, const std::vector<Cause>& causes) {
    auto& attempts = card.attempts;
    const auto newest =
        std::find_if(attempts.rbegin(), attempts.rend(),
                     [](const CardAttempt& each) { return each.stage == Stage::inventory; });
    const bool passed = newest != attempts.rend() &&
                        (newest->end == AttemptEnd::pass || newest->end == AttemptEnd::warn);
    if (!passed) return;
    newest->end = AttemptEnd::fail;
    newest->result = to_line(causes);
  }

  void add_attempts(NodeCard& card, std::size_t node) const {
    for (const auto* attempt : attempts_[node]) {
      if (attempt->stage == Stage::soak && attempt->end == AttemptEnd::pass) {
        ++card.passed_slices;
        continue;
      }
      card.attempts.push_back(card_attempt(*attempt, attempt->causes));
      card.attempts.back().boot_id = attempt->boot_id;
    }
    for (const auto* attempt : groups_) {
      if (std::ranges::count(attempt->nodes, card.node) == 0) continue;
      std::vector<Cause> causes;
      std::ranges::copy_if(attempt->causes, std::back_inserter(causes), [&](const Cause& cause) {
        return cause.node == card.node || cause.other == card.node;
      });
      const bool named = !causes.empty();
      if (!named && attempt->stage != Stage::fabric && attempt->end == AttemptEnd::pass) {
        ++card.passed_rounds;
        continue;
      }
      card.attempts.push_back(card_attempt(*attempt, named ? causes : attempt->causes));
      if (!named || std::cmp_greater(attempt->nodes.size(), order_.plan.partners + 1)) continue;
      card.partners.clear();
      for (const auto& other : attempt->nodes) {
        if (other != card.node) {
          card.partners.push_back({.node = other, .proven = !named_.contains(other)});
        }
      }
    }
    std::ranges::stable_sort(card.attempts, {}, &CardAttempt::started);
  }

  template <class AnAttempt>
  [[nodiscard]] static CardAttempt card_attempt(const AnAttempt& attempt,
                                                const std::vector<Cause>& causes) {
    CardAttempt shown{.stage = attempt.stage,
                      .number = attempt.number,
                      .end = attempt.end,
                      .started = utc_text(attempt.started),
                      .ended = utc_text(attempt.ended),
                      .result = causes.empty() ? attempt.why : to_line(causes)};
    for (const auto& cause : causes) {
      shown.failed.push_back(fmt::format("{} {}", cause.check, cause.device));
    }
    return shown;
  }

  const Order& order_;
  const Results& results_;
  const std::vector<NodeStanding>& standings_;
  const std::vector<NodeFacts>& facts_;
  const GroupFacts& group_;
  std::vector<std::vector<const Attempt*>> attempts_;  // by node
  std::vector<const GroupAttempt*> groups_;
  std::set<std::string> named_;  // in any group
};

}  // namespace

Delivery make_delivery(const Order& order, const Results& results, const Actions& actions,
                       const std::vector<NodeFacts>& facts, const GroupFacts& group,
                       const DeliveryContext& context) {
  const DeliveryMaker maker(order, results, actions, facts, group);
  Delivery delivery{.id = order.id,
                    .state = actions.complete ? DeliveryState::complete : DeliveryState::draft,
                    .muster = order.muster,
                    .created = utc_text(order.created),
                    .at = utc_text(context.now),
                    .who = context.who,
                    .simulated = order.by == kSim,
                    .plan = order.plan,
                    .counts = counts_of(actions.standings),
                    .cards = maker.cards(),
                    .confidence = soak_of(order.plan, actions.standings),
                    .faults_by_hour = maker.faults_by_hour(),
                    .quantities = maker.quantities(),
                    .whole = maker.whole(),
                    .whole_limit_gbps = group.whole_limit_gbps,
                    .pairs = group.pairs,
                    .not_observed = maker.not_observed(),
                    .overridden = maker.overridden()};
  delivery.nodes = maker.rows(delivery.quantities);
  delivery.terms = terms_of(order.plan, delivery.counts, delivery.confidence);
  if (actions.complete) {
    const bool met = std::ranges::all_of(delivery.terms, &TermResult::met);
    delivery.terms_verdict = met ? TermsVerdict::met : TermsVerdict::not_met;
  }
  for (const auto& [stage, check, name, nodes, of] : actions.breakers) {
    delivery.stopped.push_back(fmt::format(
        "{} of {} nodes{} fail {} in the stage {}: one cause? Look at the limit, the image and the "
        "fabric.",
        nodes.size(), of, name.empty() ? "" : fmt::format(" of {}", name), check,
        to_string(stage)));
  }
  maker.add_stacks(delivery);
  return delivery;
}

int exit_status(const Plan& plan, const Actions& actions) {
  constexpr int kOpen = 2;
  if (!actions.complete) return kOpen;
  const auto counts = counts_of(actions.standings);
  const auto terms = terms_of(plan, counts, soak_of(plan, actions.standings));
  const bool all = counts.accepted == counts.ordered;
  return all && std::ranges::all_of(terms, &TermResult::met) ? 0 : 1;
}

}  // namespace muster::accept
