// SPDX-License-Identifier: Apache-2.0
// Compares each GPU of a node, with its HCA, with the same one of other nodes: finds the devices
// that are slow on most nodes, and nodes that are slow in another device.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bench/locate/locate.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::locate {
namespace {

// Disjoint pairs of nodes, measured with each device by itself.
struct Rails {
  std::vector<Pair> pairs;
  std::size_t devices = 1;
  Round round{};  // all devices of the first pair, then those of the next one

  [[nodiscard]] const std::optional<double>& at(std::size_t pair, std::size_t device) const {
    return round.gbps[pair * devices + device];
  }

  [[nodiscard]] std::vector<double> rates_of(std::size_t device) const {
    std::vector<double> values;
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
      if (const auto& gbps = at(pair, device)) values.push_back(*gbps);
    }
    return values;
  }
};

Result<Rails> measure_rails(const std::string& title, std::vector<Pair> pairs, const Nodes& nodes,
                            Rounds& rounds) {
  Rails rails{.pairs = std::move(pairs), .devices = static_cast<std::size_t>(nodes.devices)};
  TRY_ASSIGN(rails.round, rounds.measure(title, device_groups_of(rails.pairs, nodes.devices)));
  return rails;
}

Culprit slow_rail(const Rails& rails, std::size_t device, double gbps, const Scale& scale) {
  const double odds = odds_of(gbps, scale);
  return {.kind = Culprit::Kind::rail,
          .devices = {static_cast<int>(device)},
          .of_device = true,
          .gbps = gbps,
          .share = scale.share(gbps),
          .probability = probability_of({odds, odds}),
          .evidence = {fmt::format(
              "device {} alone reaches {} GB/s over {} pairs of nodes, the others {} GB/s", device,
              rate_text(gbps), rails.pairs.size(), rate_text(scale.median))},
          .ruled_out = {"the nodes: it is the same device on most of them"}};
}

// The devices that are slow on most nodes, by the medians of all.
std::vector<Culprit> slow_on_most(const Rails& rails) {
  if (rails.pairs.size() < 2) return {};  // of one pair, a single node may be slow
  std::vector<double> medians;
  for (std::size_t device = 0; device < rails.devices; ++device) {
    auto values = rails.rates_of(device);
    if (values.empty()) return {};
    medians.push_back(median_of(std::move(values)));
  }
  const auto scale = scale_of(medians, noise_of_median(rails.round.noise, rails.pairs.size()));
  std::vector<Culprit> culprits;
  for (std::size_t device = 0; scale && device < rails.devices; ++device) {
    const auto low = std::ranges::count_if(rails.rates_of(device),
                                           [&](double value) { return scale->low(value); });
    if (3 * static_cast<std::size_t>(low) <= 2 * rails.pairs.size()) continue;
    culprits.push_back(slow_rail(rails, device, medians[device], *scale));
  }
  return culprits;
}

// The measurements in which a device was slow, by node and device.
using SlowDevices = std::vector<std::map<std::size_t, std::vector<Meeting>>>;

// Ignores the devices of `common`, which are slow everywhere.
void add_slow(SlowDevices& slow, const Rails& rails, const Scale& scale,
              const std::vector<int>& common) {
  for (std::size_t pair = 0; pair < rails.pairs.size(); ++pair) {
    const auto [a, b] = rails.pairs[pair];
    for (std::size_t device = 0; device < rails.devices; ++device) {
      const auto& gbps = rails.at(pair, device);
      if (std::ranges::count(common, static_cast<int>(device)) > 0 || !scale.low(gbps)) continue;
      slow[a][device].push_back({b, gbps, scale});
      slow[b][device].push_back({a, gbps, scale});
    }
  }
}

// Pairs each of `suspects` with a partner that it has not met.
std::vector<Pair> new_pairs(const SlowDevices& slow, const std::vector<Node>& suspects,
                            std::vector<Node>& partners, const Nodes& nodes) {
  std::vector<std::vector<Node>> met(suspects.size());
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    for (const auto& [device, meetings] : slow[suspects[i]]) {
      for (const auto& meeting : meetings) met[i].push_back(meeting.partner);
    }
  }
  return pair_with(suspects, partners, nodes, met);
}

// The meetings of the device of a node that was slow with the most partners.
std::vector<Meeting> worst_of(const std::map<std::size_t, std::vector<Meeting>>& slow) {
  std::vector<Meeting> worst;
  for (const auto& [device, meetings] : slow) {
    if (meetings.size() > worst.size()) worst = meetings;
  }
  return worst;
}

}  // namespace

Result<Suspicion> rails(Rounds& rounds, const std::vector<Suspect>& slow, SearchResult& result) {
  const auto& nodes = result.nodes;
  // Slow nodes would look like slow devices: each gets its own zone and is measured later.
  auto others = nodes;
  others.zones.resize(nodes.count());
  for (const auto& each : slow) others.zones[each.node] = -2 - static_cast<int>(each.node);
  TRY_ASSIGN(const auto first,
             measure_rails("each device of disjoint pairs", pairs_across(others), nodes, rounds));
  Floor floor;  // of one device
  if (rounds.floor()) floor = *rounds.floor() / nodes.devices;
  const auto usual = first_scale(finished(first.round), first.round.noise, floor);
  if (!usual) return Suspicion{};
  Suspicion suspicion{.scale = *usual};
  for (auto& culprit : slow_on_most(first)) {
    suspicion.devices.push_back(culprit.devices.front());
    result.culprits.push_back(std::move(culprit));
  }
  if (suspicion.devices.empty()) return suspicion;
  SlowDevices slow_devices(nodes.count());
  add_slow(slow_devices, first, *usual, suspicion.devices);
  std::vector<bool> proven(nodes.count());
  for (const auto& [a, b] : first.pairs) {
    proven[a] = proven[b] = slow_devices[a].empty() && slow_devices[b].empty();
  }
  std::vector<Node> suspects;
  for (Node node = 0; node < nodes.count(); ++node) {
    (proven[node] ? suspicion.proven : suspects).push_back(node);
  }
  for (int turn = 0; turn < 2 && !suspects.empty(); ++turn) {
    auto partners = suspicion.proven;
    auto pairs = new_pairs(slow_devices, suspects, partners, nodes);
    if (pairs.empty()) break;
    append(pairs, take_controls(partners, suspects.size(), nodes));
    TRY_ASSIGN(const auto again, measure_rails("each device of suspects with proven partners",
                                               std::move(pairs), nodes, rounds));
    const auto scale = first_scale(finished(again.round), again.round.noise, floor);
    add_slow(slow_devices, again, scale.value_or(*usual), suspicion.devices);
    // A single measurement is not enough to accuse a node, so slow nodes are measured again.
    std::erase_if(suspects, [&](Node node) { return worst_of(slow_devices[node]).size() != 1; });
  }
  for (Node node = 0; node < nodes.count(); ++node) {
    auto meetings = worst_of(slow_devices[node]);
    if (meetings.size() >= 2) suspicion.slow.push_back({node, std::move(meetings)});
  }
  return suspicion;
}

}  // namespace muster::bench::locate
