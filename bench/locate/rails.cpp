// SPDX-License-Identifier: Apache-2.0
// Each GPU of a node, with its HCA, has its equals to itself: the devices that are slow on most
// nodes, and beside those the nodes that are slow in another one.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "bench/locate/locate.hpp"
#include "bench/results/statistics.hpp"

namespace muster::bench::locate {
namespace {

// Disjoint pairs of nodes, each device of theirs by itself: pair after pair.
struct Rails {
  std::vector<Pair> pairs;
  std::size_t devices = 1;
  Round round;

  [[nodiscard]] const std::optional<double>& at(std::size_t pair, std::size_t device) const {
    return round.gbps[pair * devices + device];
  }

  // What this device reaches, pair by pair.
  [[nodiscard]] std::vector<double> of(std::size_t device) const {
    std::vector<double> values;
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
      if (const auto& gbps = at(pair, device)) values.push_back(*gbps);
    }
    return values;
  }
};

Result<Rails> measure_rails(const std::string& title, std::vector<Pair> pairs, const Nodes& nodes,
                            Rounds& rounds) {
  Rails rails{
      .pairs = std::move(pairs), .devices = static_cast<std::size_t>(nodes.devices), .round = {}};
  const auto measured =
      put(rails.round, rounds.measure(title, device_groups_of(rails.pairs, nodes.devices)));
  if (!measured) return tl::unexpected(measured.error());
  return rails;
}

// The devices that are slow on most nodes, by the medians of all.
std::vector<Culprit> slow_on_most(const Rails& rails, const Rule& rule) {
  if (rails.pairs.size() < 2) return {};  // one node of the two would do
  std::vector<double> medians;
  for (std::size_t device = 0; device < rails.devices; ++device) {
    auto values = rails.of(device);
    if (values.empty()) return {};
    medians.push_back(median_of(std::move(values)));
  }
  const auto scale =
      scale_of(medians, noise_of_median(rails.round.noise, rails.pairs.size()), rule);
  std::vector<Culprit> culprits;
  for (std::size_t device = 0; scale && device < rails.devices; ++device) {
    const double gbps = medians[device];
    const auto low =
        std::ranges::count_if(rails.of(device), [&](double value) { return scale->low(value); });
    if (3 * static_cast<std::size_t>(low) <= 2 * rails.pairs.size()) continue;
    culprits.push_back(
        {.kind = Culprit::Kind::rail,
         .devices = {static_cast<int>(device)},
         .of_device = true,
         .gbps = gbps,
         .share = scale->share(gbps),
         .probability = probability_of({odds_of(gbps, *scale), odds_of(gbps, *scale)}),
         .evidence = {fmt::format("device {} alone reaches {} GB/s over {} pairs of nodes, and the "
                                  "others {} GB/s",
                                  device, rate_text(gbps), rails.pairs.size(),
                                  rate_text(scale->median))},
         .ruled_out = {"the nodes: it is the same device on most of them"}});
  }
  return culprits;
}

// Each node with the best of what its devices lack: what a slow device reached.
class Suspects {
 public:
  explicit Suspects(const Nodes& nodes) : low_(nodes.count()) {}

  // `common`: devices that are slow everywhere, which is no node's fault.
  void take(const Rails& rails, const std::vector<int>& common, const Scale& scale) {
    for (std::size_t pair = 0; pair < rails.pairs.size(); ++pair) {
      const auto [a, b] = rails.pairs[pair];
      for (std::size_t device = 0; device < rails.devices; ++device) {
        const auto& gbps = rails.at(pair, device);
        const bool is_common = std::ranges::count(common, static_cast<int>(device)) > 0;
        if (is_common || !scale.low(gbps)) continue;
        low_[a][device].push_back({b, gbps, scale});
        low_[b][device].push_back({a, gbps, scale});
      }
    }
  }

  // Of how many partners one and the same device was low.
  [[nodiscard]] std::size_t times_low(Node node) const {
    std::size_t most = 0;
    for (const auto& [device, meetings] : low_[node]) most = std::max(most, meetings.size());
    return most;
  }

  // Those of a first round of which no device was low, in their order.
  [[nodiscard]] std::vector<Node> proven_by(const Rails& rails) const {
    std::vector<Node> proven;
    for (const auto& [a, b] : rails.pairs) {
      if (low_[a].empty() && low_[b].empty()) proven.insert(proven.end(), {a, b});
    }
    std::ranges::sort(proven);
    return proven;
  }

  // Each with one of these that it has not met.
  [[nodiscard]] std::vector<Pair> pair_anew(const std::vector<Node>& asked,
                                            std::vector<Node>& partners, const Nodes& nodes) const {
    return pair_with(asked, partners, nodes, [this](Node node) {
      std::vector<Node> met;
      for (const auto& [device, meetings] : low_[node]) {
        for (const auto& meeting : meetings) met.push_back(meeting.partner);
      }
      return met;
    });
  }

  // Those of which one and the same device was low with so many partners.
  [[nodiscard]] std::vector<Suspect> low_with(std::size_t partners) const {
    std::vector<Suspect> found;
    for (Node node = 0; node < low_.size(); ++node) {
      for (const auto& [device, meetings] : low_[node]) {
        if (meetings.size() < partners) continue;
        found.push_back({.node = node, .meetings = meetings});
        break;
      }
    }
    return found;
  }

 private:
  std::vector<std::map<std::size_t, std::vector<Meeting>>> low_;
};

std::vector<Node> all_of(const Nodes& nodes) {
  std::vector<Node> all(nodes.count());
  std::iota(all.begin(), all.end(), Node{0});
  return all;
}

}  // namespace

Result<Suspicion> rails(const Nodes& nodes, Rounds& rounds, const std::vector<Suspect>& slow,
                        Search& search) {
  // Slow nodes would pass for slow devices: they are measured later.
  auto others = nodes;
  others.zones.resize(nodes.count());
  for (const auto& each : slow) others.zones[each.node] = -2 - static_cast<int>(each.node);
  const auto first =
      measure_rails("each device of disjoint pairs", pairs_across(others), nodes, rounds);
  if (!first) return tl::unexpected(first.error());
  const auto rule = rule_of_device(rounds.rule(), nodes.devices);
  search.scale = first_scale(finished(first->round), first->round.noise, rule);
  if (!search.scale) return Suspicion{};
  const auto common = slow_on_most(*first, rule);
  std::ranges::copy(common, std::back_inserter(search.culprits));
  Suspicion suspicion{
      .slow = {}, .pairs = {}, .proven = {}, .scale = *search.scale, .of_device = true};
  if (common.empty()) return suspicion;
  for (const auto& each : common) suspicion.devices.push_back(each.devices.front());
  Suspects suspects(nodes);
  suspects.take(*first, suspicion.devices, *search.scale);
  suspicion.proven = suspects.proven_by(*first);
  std::vector<Node> asked;
  std::ranges::set_difference(all_of(nodes), suspicion.proven, std::back_inserter(asked));
  for (int turn = 0; turn < 2 && !asked.empty(); ++turn) {
    auto partners = suspicion.proven;
    auto pairs = suspects.pair_anew(asked, partners, nodes);
    if (pairs.empty()) break;
    std::ranges::move(take_controls(partners, asked.size(), nodes), std::back_inserter(pairs));
    TRY_ASSIGN(const auto again, measure_rails("each device of suspects with proven partners",
                                               std::move(pairs), nodes, rounds));
    const auto scale = first_scale(finished(again.round), again.round.noise, rule);
    suspects.take(again, suspicion.devices, scale.value_or(*search.scale));
    // Who was slow once, since nobody is accused by that.
    std::erase_if(asked, [&](Node node) { return suspects.times_low(node) != 1; });
  }
  suspicion.slow = suspects.low_with(2);
  return suspicion;
}

}  // namespace muster::bench::locate
