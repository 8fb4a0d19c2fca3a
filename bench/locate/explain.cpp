// SPDX-License-Identifier: Apache-2.0
// From slow nodes and slow pairs to causes: a few more rounds in which hardly anybody else works.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "bench/locate/locate.hpp"
#include "bench/results/statistics.hpp"
#include "lib/base/units.hpp"

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
    for (const auto& each : suspicion.slow) slow_.push_back(evidence_of(each));
    std::ranges::sort(slow_, {}, [](const Slow& each) { return each.suspect->node; });
  }

  [[nodiscard]] Result<std::vector<Culprit>> run() {
    const bool parts = nodes_.devices > 1 && !slow_.empty();
    if (parts || !suspicion_.pairs.empty()) {
      if (auto done = measure_quiet(parts); !done) return tl::unexpected(done.error());
    }
    if (parts) {
      if (auto done = measure_inside(); !done) return tl::unexpected(done.error());
    }
    if (auto done = measure_alone(); !done) return tl::unexpected(done.error());
    for (auto& each : slow_) culprits_.push_back(each.jammed ? jam_of(each) : conclude(each));
    return std::move(culprits_);
  }

 private:
  struct Slow {
    const Suspect* suspect = nullptr;
    std::vector<int> low{};  // devices that are slow by themselves
    bool rails = false;      // were they measured?
    bool inside_low = false, inside = false;
    bool jammed = false;  // fine with another partner while nobody else works
    std::vector<double> odds{};
    std::vector<std::string> evidence{};
  };

  static void take(Culprit& culprit, const Meeting& meeting) {
    if (!meeting.gbps) return;
    culprit.hung = false;
    culprit.gbps = std::max(culprit.gbps, *meeting.gbps);
    culprit.share = std::max(culprit.share, meeting.scale.share(*meeting.gbps));
  }

  [[nodiscard]] Slow evidence_of(const Suspect& suspect) const {
    Slow slow{.suspect = &suspect};
    for (const auto& meeting : suspect.meetings) {
      slow.odds.push_back(odds_of(meeting.gbps, meeting.scale));
      slow.evidence.push_back(fmt::format("with {}: {}", nodes_.names[meeting.partner],
                                          rate(meeting.gbps, meeting.scale)));
    }
    return slow;
  }

  // While few others work: pairs that were slow, and the rails of slow nodes, each with controls of
  // its kind. All groups are of different nodes.
  [[nodiscard]] Result<void> measure_quiet(bool parts) {
    std::vector<Node> slow;
    for (const auto& each : slow_) slow.push_back(each.suspect->node);
    auto left = suspicion_.proven;
    // Of a slow pair both are proven, and they are measured with each other.
    for (const auto& each : suspicion_.pairs) {
      std::erase(left, each.pair.first);
      std::erase(left, each.pair.second);
    }
    if (parts) prefer_fresh(left);
    const auto rails = parts ? pair_with(slow, left, nodes_) : std::vector<Pair>{};
    const auto rail_controls = parts ? take_controls(left, kControls / 2, nodes_) : rails;
    std::vector<Group> groups;
    for (const auto& each : suspicion_.pairs) {
      groups.push_back({.nodes = {each.pair.first, each.pair.second}});
    }
    const auto controls = groups.size();
    if (!groups.empty()) {
      std::ranges::move(groups_of(take_controls(left, kControls, nodes_)),
                        std::back_inserter(groups));
    }
    const auto first_rail = groups.size();
    for (const auto* list : {&rails, &rail_controls}) {
      std::ranges::move(device_groups_of(*list, nodes_.devices), std::back_inserter(groups));
    }
    TRY_ASSIGN(const auto round,
               rounds_.measure_in_turns("suspects alone", std::move(groups), few()));
    judge_rails(round, first_rail, rails);
    return judge_pairs(round, controls, first_rail);
  }

  // So many nodes at a time do not fill the switches.
  [[nodiscard]] std::size_t few() const { return std::max<std::size_t>(2, nodes_.count() / 2); }

  // Where neither a device nor the node by itself is slow: the node with a partner, alone.
  [[nodiscard]] Result<void> measure_alone() {
    std::vector<Node> unexplained;
    for (const auto& each : slow_) {
      if (each.low.empty() && !each.inside_low) unexplained.push_back(each.suspect->node);
    }
    auto left = suspicion_.proven;
    prefer_fresh(left);
    auto pairs = pair_with(unexplained, left, nodes_);
    if (pairs.empty()) return {};
    const auto count = pairs.size();
    std::ranges::move(take_controls(left, kControls, nodes_), std::back_inserter(pairs));
    const auto round =
        rounds_.measure_in_turns("suspects with a partner, alone", groups_of(pairs), few());
    if (!round) return tl::unexpected(round.error());
    const auto scale = scale_from(*round, count, suspicion_.scale, rounds_.rule());
    for (std::size_t i = 0; i < count; ++i) {
      const auto slow = of(pairs[i].first);
      slow->jammed = !scale.low(round->gbps[i]);
      slow->evidence.push_back(fmt::format("alone, with {}: {}", nodes_.names[pairs[i].second],
                                           rate(round->gbps[i], scale)));
    }
    return {};
  }

  [[nodiscard]] std::vector<Slow>::iterator of(Node node) {
    return std::ranges::find_if(slow_,
                                [&](const Slow& each) { return each.suspect->node == node; });
  }

  [[nodiscard]] Result<void> judge_pairs(const Round& round, std::size_t controls,
                                         std::size_t end) {
    auto part = round;
    part.groups.resize(end);
    part.gbps.resize(end);
    const auto scale = scale_from(part, controls, suspicion_.scale, rounds_.rule());
    if (auto done = measure_by_itself(part, scale); !done) return done;
    Culprit jam{.kind = Culprit::Kind::congestion};
    for (std::size_t i = 0; i < suspicion_.pairs.size(); ++i) {
      judge_pair(suspicion_.pairs[i], part.gbps[i], scale, jam);
    }
    if (!jam.nodes.empty()) culprits_.push_back(std::move(jam));
    return {};
  }

  // Below a small leaf switch even a few pairs may be a crowd. A pair that is slow among few, and
  // less so than among all, is measured once more, while no other works.
  [[nodiscard]] Result<void> measure_by_itself(Round& round, const Scale& scale) {
    std::vector<std::size_t> low;
    std::vector<Group> groups;
    for (std::size_t i = 0; i < suspicion_.pairs.size(); ++i) {
      const auto& few = round.gbps[i];
      if (!few || !scale.low(few)) continue;
      const double among_all = suspicion_.pairs[i].scale.share(suspicion_.pairs[i].gbps);
      if (scale.share(*few) <= among_all + rounds_.rule().tolerance) continue;
      low.push_back(i);
      groups.push_back(round.groups[i]);
    }
    if (low.empty()) return {};
    TRY_ASSIGN(const auto again,
               rounds_.measure_in_turns("slow pairs by themselves", std::move(groups), 2));
    for (std::size_t i = 0; i < low.size(); ++i) round.gbps[low[i]] = again.gbps[i];
    return {};
  }

  // Where there are enough of them, those with whom no slow node was measured yet.
  void prefer_fresh(std::vector<Node>& partners) const {
    auto fresh = partners;
    for (const auto& slow : slow_) {
      for (const auto& meeting : slow.suspect->meetings) std::erase(fresh, meeting.partner);
    }
    if (fresh.size() >= slow_.size() + kControls) partners = std::move(fresh);
  }

  void judge_pair(const SlowPair& pair, const std::optional<double>& again, const Scale& scale,
                  Culprit& jam) {
    const auto [a, b] = pair.pair;
    const auto names = fmt::format("{} with {}", nodes_.names[a], nodes_.names[b]);
    if (!scale.low(again)) {
      jam.nodes.insert(jam.nodes.end(), {a, b});
      jam.gbps = pair.gbps.value_or(0);
      jam.share = pair.scale.share(jam.gbps);
      jam.probability = probability_of({odds_of(pair.gbps, pair.scale)});
      jam.evidence.push_back(fmt::format("{}: {} while all nodes worked; alone {}", names,
                                         rate(pair.gbps, pair.scale), rate(again, scale)));
      return;
    }
    culprits_.push_back(
        {.kind = Culprit::Kind::link,
         .nodes = {a, b},
         .hung = !again && !pair.gbps,
         .gbps = again.value_or(0),
         .share = scale.share(again),
         .probability = probability_of({odds_of(pair.gbps, pair.scale), odds_of(again, scale)}),
         .evidence = {fmt::format("{}: {}", names, rate(pair.gbps, pair.scale)),
                      fmt::format("alone again: {}", rate(again, scale))},
         .ruled_out = {"the two nodes: each reaches its bandwidth with another partner",
                       "congestion: it is slow while nobody else works"}});
  }

  void judge_rails(const Round& round, std::size_t first, const std::vector<Pair>& pairs) {
    const auto devices = static_cast<std::size_t>(nodes_.devices);
    const auto controls = first + pairs.size() * devices;
    if (pairs.empty()) return;
    const auto scale = scale_from(round, controls, share_of_device(), rounds_.rule());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto slow = of(pairs[i].first);
      slow->rails = true;
      std::vector<std::string> lines;
      const auto& partner = nodes_.names[pairs[i].second];
      for (std::size_t device = 0; device < devices; ++device) {
        const auto& gbps = round.gbps[first + i * devices + device];
        const bool common = std::ranges::count(suspicion_.devices, static_cast<int>(device)) > 0;
        if (common || !scale.low(gbps)) continue;
        slow->low.push_back(static_cast<int>(device));
        if (lines.empty()) slow->odds.push_back(odds_of(gbps, scale));
        lines.push_back(fmt::format("device {} alone, with that of {}: {}", device, partner,
                                    rate(gbps, scale)));
      }
      if (lines.size() == devices) {
        lines = {fmt::format("each of its devices alone, with those of {}, too", partner)};
      }
      std::ranges::move(lines, std::back_inserter(slow->evidence));
    }
  }

  // What a device of a healthy pair reaches, where there is none to compare with: its part of the
  // whole, of which anything nearer to that than to nothing of a loss is fine.
  [[nodiscard]] Scale share_of_device() const {
    if (suspicion_.of_device) return suspicion_.scale;
    auto scale = suspicion_.scale;
    for (auto* value : {&scale.median, &scale.deviation, &scale.limit}) *value /= nodes_.devices;
    return scale;
  }

  [[nodiscard]] Result<void> measure_inside() {
    std::vector<Group> groups;
    for (const auto& each : slow_) groups.push_back({.nodes = {each.suspect->node}});
    const auto controls = groups.size();
    for (std::size_t i = 0; i < std::min(kControls, suspicion_.proven.size()); ++i) {
      groups.push_back({.nodes = {suspicion_.proven[i]}});
    }
    TRY_ASSIGN(const auto round, rounds_.measure("each suspect by itself", std::move(groups)));
    const auto scale = scale_inside(finished(round, controls), round.noise);
    if (!scale) return {};
    for (std::size_t i = 0; i < slow_.size(); ++i) {
      slow_[i].inside = true;
      slow_[i].inside_low = scale->low(round.gbps[i]);
      if (slow_[i].inside_low) {
        slow_[i].evidence.push_back(
            fmt::format("by itself, over its own links: {}", rate(round.gbps[i], *scale)));
      }
    }
    return {};
  }

  // Few are enough here: what is slow inside is far behind.
  [[nodiscard]] std::optional<Scale> scale_inside(const std::vector<double>& proven,
                                                  double noise) const {
    constexpr double kFar = 0.9;
    if (proven.size() >= rounds_.rule().enough || proven.empty()) {
      return scale_of(proven, noise, rounds_.rule());
    }
    const double median = median_of(proven);
    return Scale{
        .count = proven.size(),
        .median = median,
        .deviation = std::max(noise, suspicion_.scale.deviation / suspicion_.scale.median) * median,
        .limit = kFar * median};
  }

  [[nodiscard]] Part part_of(const Slow& slow) const {
    const auto low = slow.low.size();
    if (low == 1 && slow.inside) return slow.inside_low ? Part::gpu : Part::hca;
    if (low == 0 && slow.rails && slow.inside_low) return Part::inside;
    if (low > 1 && slow.inside && !slow.inside_low) return Part::network;
    return Part::untold;
  }

  [[nodiscard]] Culprit jam_of(Slow& slow) const {
    Culprit culprit{.kind = Culprit::Kind::congestion,
                    .nodes = {slow.suspect->node},
                    .evidence = std::move(slow.evidence)};
    for (const auto& meeting : slow.suspect->meetings) take(culprit, meeting);
    culprit.hung = false;
    return culprit;
  }

  [[nodiscard]] Culprit conclude(Slow& slow) const {
    Culprit culprit{.kind = Culprit::Kind::node,
                    .nodes = {slow.suspect->node},
                    .part = part_of(slow),
                    .hung = true,
                    .of_device = suspicion_.of_device,
                    .probability = probability_of(slow.odds),
                    .evidence = std::move(slow.evidence)};
    for (const auto& meeting : slow.suspect->meetings) take(culprit, meeting);
    auto& not_it = culprit.ruled_out;
    not_it.push_back(fmt::format("its partners and the paths to them: it is slow with {}",
                                 slow.suspect->meetings.size()));
    if (slow.rails && slow.low.empty()) not_it.emplace_back("each of its HCAs by itself");
    if (slow.inside && !slow.inside_low) not_it.emplace_back("the links between its GPUs");
    if (slow.low.size() < static_cast<std::size_t>(nodes_.devices)) {
      culprit.devices = std::move(slow.low);
    }
    return culprit;
  }

  const Suspicion& suspicion_;
  const Nodes& nodes_;
  Rounds& rounds_;
  std::vector<Slow> slow_;
  std::vector<Culprit> culprits_;
};

}  // namespace

Result<std::vector<Culprit>> explain(const Suspicion& suspicion, const Nodes& nodes,
                                     Rounds& rounds) {
  return Explanation(suspicion, nodes, rounds).run();
}

}  // namespace muster::bench::locate
