// SPDX-License-Identifier: Apache-2.0
// The strategy of devices: each GPU of a node, with its HCA, has its equals to itself.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "bench/locate/explain.hpp"
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

Result<Rails> measure_rails(const std::string& title,
                            std::vector<Pair> pairs,
                            const Nodes& nodes,
                            Rounds& rounds) {
  Rails rails{
      .pairs = std::move(pairs), .devices = static_cast<std::size_t>(nodes.devices), .round = {}};
  std::vector<Group> groups;
  for (const auto& [a, b] : rails.pairs) {
    for (int device = 0; device < nodes.devices; ++device) {
      groups.push_back({.nodes = {a, b}, .device = device});
    }
  }
  auto round = rounds.measure(title, std::move(groups));
  if (!round) return tl::unexpected(round.error());
  rails.round = *std::move(round);
  return rails;
}

// The devices that are slow on most nodes, by the medians of all.
std::vector<Culprit> slow_on_most(const Rails& rails, const Rule& rule) {
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
    if (!scale->low(gbps)) continue;
    culprits.push_back(
        {.kind = Culprit::Kind::rail,
         .devices = {static_cast<int>(device)},
         .of_device = true,
         .gbps = gbps,
         .share = scale->share(gbps),
         .probability = probability_of({odds_of(gbps, *scale), odds_of(gbps, *scale)}),
         .evidence = {fmt::format("device {} alone reaches {} GB/s over {} pairs of nodes, and the "
                                  "others {} GB/s",
                                  device,
                                  rate_text(gbps),
                                  rails.pairs.size(),
                                  rate_text(scale->median))},
         .ruled_out = {"the nodes: it is the same device on most of them"}});
  }
  return culprits;
}

bool is_of(const std::vector<Culprit>& slow, std::size_t device) {
  return std::ranges::any_of(slow, [&](const Culprit& culprit) {
    return culprit.devices.front() == static_cast<int>(device);
  });
}

// Each node with the best of what its devices lack: what a slow device reached.
class Suspects {
 public:
  explicit Suspects(const Nodes& nodes) : low_(nodes.count()) {}

  // `slow`: devices that are slow everywhere, which is no node's fault.
  void take(const Rails& rails, const std::vector<Culprit>& slow, const Scale& scale) {
    for (std::size_t pair = 0; pair < rails.pairs.size(); ++pair) {
      const auto [a, b] = rails.pairs[pair];
      for (std::size_t device = 0; device < rails.devices; ++device) {
        const auto& gbps = rails.at(pair, device);
        if (is_of(slow, device) || !is_low(gbps, scale)) continue;
        low_[a][device].push_back({b, gbps, scale});
        low_[b][device].push_back({a, gbps, scale});
      }
    }
  }

  [[nodiscard]] std::vector<Node> nodes() const {
    std::vector<Node> found;
    for (Node node = 0; node < low_.size(); ++node) {
      if (!low_[node].empty()) found.push_back(node);
    }
    return found;
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

}  // namespace

Result<std::vector<Culprit>> slow_rails(const Nodes& nodes, Rounds& rounds) {
  const auto rails =
      measure_rails("each device of disjoint pairs", pairs_across(nodes), nodes, rounds);
  if (!rails) return tl::unexpected(rails.error());
  return slow_on_most(*rails, rounds.rule());
}

Result<Suspicion> rails(const Nodes& nodes, Rounds& rounds, Search& search) {
  const auto first =
      measure_rails("each device of disjoint pairs", pairs_across(nodes), nodes, rounds);
  if (!first) return tl::unexpected(first.error());
  const auto rule = rule_of_device(rounds.rule(), nodes.devices);
  search.scale = first_scale(finished(first->round), first->round.noise, rule);
  if (!search.scale) return Suspicion{};
  search.culprits = slow_on_most(*first, rule);
  Suspects suspects(nodes);
  suspects.take(*first, search.culprits, *search.scale);
  const auto once = suspects.nodes();
  Suspicion suspicion{
      .slow = {}, .pairs = {}, .proven = {}, .scale = *search.scale, .of_device = true};
  for (const auto& slow : search.culprits) suspicion.devices.push_back(slow.devices.front());
  std::vector<bool> suspect(nodes.count());
  for (const auto node : once) suspect[node] = true;
  for (const auto& pair : first->pairs) {
    for (const auto node : {pair.first, pair.second}) {
      if (!suspect[node]) suspicion.proven.push_back(node);
    }
  }
  if (once.empty()) return suspicion;
  auto partners = suspicion.proven;
  auto pairs = pair_with(once, partners, nodes);
  std::ranges::move(take_controls(partners, once.size(), nodes), std::back_inserter(pairs));
  if (pairs.empty()) return suspicion;
  const auto again = measure_rails(
      "each device of suspects with proven partners", std::move(pairs), nodes, rounds);
  if (!again) return tl::unexpected(again.error());
  const auto scale = first_scale(finished(again->round), again->round.noise, rule);
  suspects.take(*again, search.culprits, scale.value_or(*search.scale));
  suspicion.slow = suspects.low_with(2);
  return suspicion;
}

}  // namespace muster::bench::locate
