// SPDX-License-Identifier: Apache-2.0
// Finds the causes of slow nodes and slow pairs, in a few more rounds in which hardly any other
// node works.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/locate/locate.hpp"
#include "lib/base/units.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::locate {
namespace {

constexpr std::size_t kControls = 8;

std::string rate(const std::optional<double>& gbps, const Scale& scale) {
  if (!gbps) return "did not finish";
  return fmt::format(
      "{} GB/s, {:.0f}% of {} that {} reach", rate_text(*gbps), kPercent * scale.share(*gbps),
      rate_text(scale.median),
      scale.count == 1 ? "one healthy one" : fmt::format("{} healthy ones", scale.count));
}

class Explanation {
 public:
  Explanation(const Suspicion& suspicion, const Nodes& nodes, Rounds& rounds)
      : suspicion_(suspicion), nodes_(nodes), rounds_(rounds) {
    for (const auto& suspect : suspicion.slow) {
      auto& slow = slow_.emplace_back();
      slow.suspect = &suspect;
      slow.culprit = {.kind = Culprit::Kind::node, .nodes = {suspect.node}};
      for (const auto& [partner, gbps, scale] : suspect.meetings) {
        slow.odds.push_back(odds_of(gbps, scale));
        slow.culprit.evidence.push_back(
            fmt::format("with {}: {}", nodes.names[partner], rate(gbps, scale)));
      }
    }
    std::ranges::sort(slow_, {}, &SlowNode::node);
  }

  [[nodiscard]] Result<std::vector<Culprit>> run() {
    const bool devices = nodes_.devices > 1 && !slow_.empty();
    if (devices || !suspicion_.pairs.empty()) TRY(measure_quiet(devices));
    if (devices) TRY(measure_inside());
    TRY(measure_alone());
    for (auto& each : slow_) culprits_.push_back(conclude(each));
    return std::move(culprits_);
  }

 private:
  struct SlowNode {
    const Suspect* suspect = nullptr;
    Culprit culprit{};                        // its devices are those that are slow by themselves
    std::vector<std::string> device_rates{};  // of these
    std::string partner{};                    // the node they were measured with; empty if none
    bool inside_low = false;
    std::vector<double> odds{};

    [[nodiscard]] Node node() const { return suspect->node; }
  };

  [[nodiscard]] SlowNode& slow_node(Node node) {
    return *std::ranges::find(slow_, node, &SlowNode::node);
  }

  // So few nodes at a time do not fill the switches.
  [[nodiscard]] std::size_t few() const { return std::max<std::size_t>(2, nodes_.count() / 2); }

  // Slow pairs, and the devices of slow nodes, each with controls of its kind.
  [[nodiscard]] Result<void> measure_quiet(bool devices) {
    std::vector<Node> slow;
    for (const auto& each : slow_) slow.push_back(each.node());
    auto left = suspicion_.proven;
    std::vector<NodeGroup> groups;
    for (const auto& [pair, gbps, scale] : suspicion_.pairs) {
      std::erase(left, pair.first);
      std::erase(left, pair.second);
      groups.push_back({.nodes = {pair.first, pair.second}});
    }
    if (devices) prefer_fresh(left);
    const auto rails = devices ? pair_with(slow, left, nodes_) : std::vector<Pair>{};
    const auto rail_controls = devices ? take_controls(left, kControls / 2, nodes_) : rails;
    const auto controls = groups.size();
    if (!groups.empty()) append(groups, groups_of(take_controls(left, kControls, nodes_)));
    const auto first_rail = groups.size();
    append(groups, device_groups_of(rails, nodes_.devices));
    append(groups, device_groups_of(rail_controls, nodes_.devices));
    TRY_ASSIGN(auto round, rounds_.measure_in_turns("suspects alone", std::move(groups), few()));
    judge_devices(round, first_rail, rails);
    round.groups.resize(first_rail);
    round.gbps.resize(first_rail);
    return judge_pairs(std::move(round), controls);
  }

  // If neither a device nor the node by itself is slow: the node with one partner, alone.
  [[nodiscard]] Result<void> measure_alone() {
    std::vector<Node> unexplained;
    for (const auto& each : slow_) {
      if (each.culprit.devices.empty() && !each.inside_low) unexplained.push_back(each.node());
    }
    auto left = suspicion_.proven;
    prefer_fresh(left);
    auto pairs = pair_with(unexplained, left, nodes_);
    if (pairs.empty()) return {};
    const auto count = pairs.size();
    append(pairs, take_controls(left, kControls, nodes_));
    TRY_ASSIGN(const auto round,
               rounds_.measure_in_turns("suspects with a partner, alone", groups_of(pairs), few()));
    const auto scale = scale_from(round, count, suspicion_.scale);
    for (std::size_t i = 0; i < count; ++i) {
      auto& slow = slow_node(pairs[i].first);
      if (!scale.low(round.gbps[i])) slow.culprit.kind = Culprit::Kind::congestion;
      slow.culprit.evidence.push_back(fmt::format(
          "alone, with {}: {}", nodes_.names[pairs[i].second], rate(round.gbps[i], scale)));
    }
    return {};
  }

  // The first groups of the round are the slow pairs, those from `controls` on the controls.
  [[nodiscard]] Result<void> judge_pairs(Round round, std::size_t controls) {
    const auto scale = scale_from(round, controls, suspicion_.scale);
    TRY(measure_by_itself(round, scale));
    Culprit jam{.kind = Culprit::Kind::congestion};
    for (std::size_t i = 0; i < suspicion_.pairs.size(); ++i) {
      const auto& pair = suspicion_.pairs[i];
      if (scale.low(round.gbps[i])) {
        culprits_.push_back(slow_link(pair, round.gbps[i], scale));
      } else {
        add_to_jam(jam, pair, round.gbps[i], scale);
      }
    }
    if (!jam.nodes.empty()) culprits_.push_back(std::move(jam));
    return {};
  }

  // Below a small leaf switch even a few pairs can congest it: a pair that is slow, but less so
  // than among all nodes, is measured once more while no other node works.
  [[nodiscard]] Result<void> measure_by_itself(Round& round, const Scale& scale) {
    std::vector<std::size_t> low;
    std::vector<NodeGroup> groups;
    for (std::size_t i = 0; i < suspicion_.pairs.size(); ++i) {
      const auto& [pair, among_all, usual] = suspicion_.pairs[i];
      const auto& among_few = round.gbps[i];
      if (!among_few || !scale.low(among_few)) continue;
      if (scale.share(among_few) <= usual.share(among_all) + kTolerance) continue;
      low.push_back(i);
      groups.push_back(round.groups[i]);
    }
    if (low.empty()) return {};
    TRY_ASSIGN(const auto again,
               rounds_.measure_in_turns("slow pairs by themselves", std::move(groups), 2));
    for (std::size_t i = 0; i < low.size(); ++i) round.gbps[low[i]] = again.gbps[i];
    return {};
  }

  // Keeps only partners that no slow node has met, if there are enough of them.
  void prefer_fresh(std::vector<Node>& partners) const {
    auto fresh = partners;
    for (const auto& slow : slow_) {
      for (const auto& meeting : slow.suspect->meetings) std::erase(fresh, meeting.partner);
    }
    if (fresh.size() < slow_.size() + kControls) return;
    std::vector<Node> slow;
    for (const auto& each : slow_) slow.push_back(each.node());
    auto left = fresh;
    if (pair_with(slow, left, nodes_).size() == slow.size()) partners = std::move(fresh);
  }

  [[nodiscard]] std::string names_of_pair(const SlowPair& pair) const {
    return fmt::format("{} with {}", nodes_.names[pair.pair.first], nodes_.names[pair.pair.second]);
  }

  void add_to_jam(Culprit& jam, const SlowPair& pair, const std::optional<double>& again,
                  const Scale& scale) const {
    append(jam.nodes, {pair.pair.first, pair.pair.second});
    jam.gbps = pair.gbps.value_or(0);
    jam.share = pair.scale.share(jam.gbps);
    jam.probability = probability_of({odds_of(pair.gbps, pair.scale)});
    jam.evidence.push_back(fmt::format("{}: {} while all nodes worked; alone {}",
                                       names_of_pair(pair), rate(pair.gbps, pair.scale),
                                       rate(again, scale)));
  }

  [[nodiscard]] Culprit slow_link(const SlowPair& pair, const std::optional<double>& again,
                                  const Scale& scale) const {
    return {.kind = Culprit::Kind::link,
            .nodes = {pair.pair.first, pair.pair.second},
            .hung = !again && !pair.gbps,
            .gbps = again.value_or(0),
            .share = scale.share(again),
            .probability = probability_of({odds_of(pair.gbps, pair.scale), odds_of(again, scale)}),
            .evidence = {fmt::format("{}: {}", names_of_pair(pair), rate(pair.gbps, pair.scale)),
                         fmt::format("alone again: {}", rate(again, scale))},
            .ruled_out = {"the two nodes: each is fine with another partner",
                          "congestion: it is slow while no other node works"}};
  }

  void judge_devices(const Round& round, std::size_t first, const std::vector<Pair>& pairs) {
    if (pairs.empty()) return;
    const auto devices = static_cast<std::size_t>(nodes_.devices);
    // Without controls, a device of a healthy pair reaches its part of the whole.
    const auto usual = suspicion_.devices.empty() ? suspicion_.scale.times(1.0 / nodes_.devices)
                                                  : suspicion_.scale;
    const auto scale = scale_from(round, first + pairs.size() * devices, usual);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      auto& slow = slow_node(pairs[i].first);
      slow.partner = nodes_.names[pairs[i].second];
      for (std::size_t device = 0; device < devices; ++device) {
        const auto& gbps = round.gbps[first + i * devices + device];
        const auto number = static_cast<int>(device);
        if (std::ranges::count(suspicion_.devices, number) > 0 || !scale.low(gbps)) continue;
        slow.culprit.devices.push_back(number);
        if (slow.device_rates.empty()) slow.odds.push_back(odds_of(gbps, scale));
        slow.device_rates.push_back(rate(gbps, scale));
      }
    }
  }

  [[nodiscard]] Result<void> measure_inside() {
    std::vector<NodeGroup> groups;
    for (const auto& each : slow_) groups.push_back({.nodes = {each.node()}});
    for (std::size_t i = 0; i < std::min(kControls, suspicion_.proven.size()); ++i) {
      groups.push_back({.nodes = {suspicion_.proven[i]}});
    }
    TRY_ASSIGN(const auto round, rounds_.measure("each suspect by itself", std::move(groups)));
    const auto scale = scale_inside(finished(round, slow_.size()), round.noise);
    if (!scale) return {};
    inside_measured_ = true;
    for (std::size_t i = 0; i < slow_.size(); ++i) {
      slow_[i].inside_low = scale->low(round.gbps[i]);
      if (!slow_[i].inside_low) continue;
      slow_[i].culprit.evidence.push_back(
          fmt::format("by itself, over its own links: {}", rate(round.gbps[i], *scale)));
    }
    return {};
  }

  // A few values are enough: a node that is slow inside is far behind.
  [[nodiscard]] std::optional<Scale> scale_inside(const std::vector<double>& proven,
                                                  double noise) const {
    constexpr double kFar = 0.9;
    if (proven.size() >= kEnough || proven.empty()) return scale_of(proven, noise);
    const double median = median_of(proven);
    const double usual = suspicion_.scale.deviation / suspicion_.scale.median;
    return scale_about(median, std::max(noise, usual), kFar * median, proven.size());
  }

  [[nodiscard]] SlowPart part_of(const SlowNode& slow) const {
    const auto low = slow.culprit.devices.size();
    if (low == 1 && inside_measured_) return slow.inside_low ? SlowPart::gpu : SlowPart::hca;
    if (low == 0 && !slow.partner.empty() && slow.inside_low) return SlowPart::inside;
    if (low > 1 && inside_measured_ && !slow.inside_low) return SlowPart::network;
    return SlowPart::unknown;
  }

  // Names no device if all of them are slow.
  void describe_devices(SlowNode& slow) const {
    auto& culprit = slow.culprit;
    const auto* const word = culprit.part == SlowPart::gpu ? "GPU" : "HCA";
    if (culprit.devices.size() == static_cast<std::size_t>(nodes_.devices)) {
      culprit.evidence.push_back(
          fmt::format("each {} by itself, against those of {}", word, slow.partner));
      culprit.devices.clear();
    }
    for (std::size_t i = 0; i < culprit.devices.size(); ++i) {
      const auto device = fmt::format("{} {}", word, culprit.devices[i]);
      culprit.evidence.push_back(fmt::format("{} by itself, against {}'s {}: {}", device,
                                             slow.partner, device, slow.device_rates[i]));
    }
  }

  [[nodiscard]] Culprit conclude(SlowNode& slow) const {
    auto& culprit = slow.culprit;
    bool finished = false;
    for (const auto& [partner, gbps, scale] : slow.suspect->meetings) {
      if (!gbps) continue;
      finished = true;
      culprit.gbps = std::max(culprit.gbps, *gbps);
      culprit.share = std::max(culprit.share, scale.share(gbps));
    }
    if (culprit.kind == Culprit::Kind::congestion) return std::move(culprit);
    auto& ruled_out = culprit.ruled_out;
    ruled_out.push_back(fmt::format("its partners or paths: slow with {} different nodes",
                                    slow.suspect->meetings.size()));
    if (!slow.partner.empty() && culprit.devices.empty()) {
      ruled_out.emplace_back("each of its HCAs by itself");
    }
    if (inside_measured_ && !slow.inside_low) ruled_out.emplace_back("the links between its GPUs");
    culprit.part = part_of(slow);
    describe_devices(slow);
    culprit.hung = !finished;
    culprit.of_device = !suspicion_.devices.empty();
    culprit.probability = probability_of(slow.odds);
    return std::move(culprit);
  }

  const Suspicion& suspicion_;
  const Nodes& nodes_;
  Rounds& rounds_;
  bool inside_measured_ = false;
  std::vector<SlowNode> slow_;
  std::vector<Culprit> culprits_;
};

}  // namespace

Result<std::vector<Culprit>> explain(const Suspicion& suspicion, const Nodes& nodes,
                                     Rounds& rounds) {
  return Explanation(suspicion, nodes, rounds).run();
}

}  // namespace muster::bench::locate
