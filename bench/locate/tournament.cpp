// SPDX-License-Identifier: Apache-2.0
// The strategy for the acceptance of a cluster, and for few nodes: all pairs, in n - 1 rounds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>

#include "bench/locate/locate.hpp"
#include "bench/results/statistics.hpp"

namespace muster::bench::locate {
namespace {

constexpr std::size_t kFew = 64;  // up to here each pair is repeated

// All rates; 0 where a pair did not finish, and below it where it was not measured.
class Table {
 public:
  explicit Table(std::size_t nodes) : nodes_(nodes), rates_(nodes * nodes, kUnmeasured) {}

  // What drifts from round to round is taken out: each round has the same median, unless that is so
  // far off that half of its pairs must be slow.
  void add(const Round& round, const Rule& rule) {
    auto values = finished(round);
    double factor = 1;
    if (values.size() >= 2 * rule.enough) {
      const double median = median_of(std::move(values));
      if (first_ == 0) first_ = median;
      constexpr double kMostDrift = 0.1;
      if (std::abs(median / first_ - 1) < kMostDrift) factor = first_ / median;
    }
    for (std::size_t i = 0; i < round.size(); ++i) {
      const auto a = round.groups[i].nodes[0];
      const auto b = round.groups[i].nodes[1];
      const auto rate = static_cast<float>(factor * round.gbps[i].value_or(0));
      rates_[a * nodes_ + b] = rates_[b * nodes_ + a] = rate;
    }
  }

  [[nodiscard]] double at(Node a, Node b) const {
    return static_cast<double>(rates_[a * nodes_ + b]);
  }

  [[nodiscard]] bool measured(Node a, Node b) const { return rates_[a * nodes_ + b] >= 0; }

  // What a node can do: the rate of its best pair; without repeats, where that would be luck, what
  // the best quarter of its pairs reach at least. Bad partners do not lower it. Nothing where it
  // has met nobody.
  [[nodiscard]] std::optional<double> score(Node node) const {
    std::vector<float> own;
    own.reserve(nodes_);
    for (Node other = 0; other < nodes_; ++other) {
      if (measured(node, other)) own.push_back(rates_[node * nodes_ + other]);
    }
    if (own.empty()) return {};
    const auto place = static_cast<std::ptrdiff_t>(better(own.size()));
    std::nth_element(own.begin(), own.begin() + place, own.end(), std::greater<>());
    return static_cast<double>(own[static_cast<std::size_t>(place)]);
  }

  // Three partners with which it reached its score, and how it did.
  [[nodiscard]] Suspect suspect(Node node, const Scale& scale) const {
    constexpr std::size_t kShown = 3;
    Suspect suspect{.node = node};
    for (Node other = 0; other < nodes_; ++other) {
      if (!measured(node, other)) continue;
      const double rate = at(node, other);
      suspect.meetings.push_back({other, rate > 0 ? std::optional(rate) : std::nullopt, scale});
    }
    std::ranges::stable_sort(suspect.meetings, std::greater<>(),
                             [](const Meeting& meeting) { return meeting.gbps.value_or(0); });
    const auto begin = suspect.meetings.begin();
    suspect.meetings.erase(begin,
                           begin + static_cast<std::ptrdiff_t>(better(suspect.meetings.size())));
    suspect.meetings.resize(std::min(kShown, suspect.meetings.size()));
    return suspect;
  }

 private:
  static constexpr float kUnmeasured = -1;

  // So many of a node's pairs are better than its score.
  [[nodiscard]] std::size_t better(std::size_t pairs) const {
    return nodes_ <= kFew ? 0 : (pairs - 1) / 4;
  }

  std::size_t nodes_;
  std::vector<float> rates_;
  double first_ = 0;
};

// What healthy pairs reach of what their nodes can do: the spread of those that are not far below
// it, since many pairs may be slow for one reason.
std::optional<Scale> scale_of_shares(std::vector<double> shares, double noise, const Rule& rule) {
  constexpr double kFar = 0.9;
  std::erase_if(shares, [](double share) { return share < kFar; });
  return scale_of(shares, noise, rule);
}

// Pairs that are slow although both nodes are fine. Each node stands in one of them at most, so
// that all can be measured again at once; the slowest come first.
std::vector<SlowPair> slow_pairs(const Table& table,
                                 const std::vector<std::optional<double>>& scores,
                                 const std::vector<bool>& slow, double noise, const Rule& rule) {
  std::vector<double> shares;
  shares.reserve(scores.size() * scores.size() / 2);
  const auto each_pair = [&](const auto& visit) {
    for (Node a = 0; a < scores.size(); ++a) {
      for (Node b = a + 1; b < scores.size() && !slow[a]; ++b) {
        if (slow[b] || !table.measured(a, b)) continue;
        visit(a, b, table.at(a, b) / std::min(*scores[a], *scores[b]));
      }
    }
  };
  each_pair([&](Node, Node, double share) { shares.push_back(share); });
  const auto scale = scale_of_shares(std::move(shares), noise, rule);
  std::vector<std::pair<double, Pair>> low;
  each_pair([&](Node a, Node b, double share) {
    if (scale ? scale->low(share) : share <= 0) low.push_back({share, {a, b}});
  });
  std::ranges::sort(low);
  std::vector<bool> taken(scores.size());
  std::vector<SlowPair> pairs;
  for (const auto& [share, pair] : low) {
    const auto [a, b] = pair;
    if (taken[a] || taken[b]) continue;
    taken[a] = taken[b] = true;
    const double usual = std::min(*scores[a], *scores[b]);
    auto own = scale.value_or(Scale{.count = 1, .median = 1, .deviation = noise, .limit = 0});
    for (auto* value : {&own.median, &own.deviation, &own.limit}) *value *= usual;
    const double rate = table.at(a, b);
    pairs.push_back({pair, rate > 0 ? std::optional(rate) : std::nullopt, own});
  }
  return pairs;
}

// Where nothing tells what is slow, what does not finish still is a fault.
std::optional<Scale> scale_of_hangs(const std::vector<double>& scores, double noise) {
  std::vector<double> rates;
  std::ranges::copy_if(scores, std::back_inserter(rates), [](double score) { return score > 0; });
  if (rates.empty()) return {};
  return scale_about(median_of(rates), noise, std::numeric_limits<double>::min(), rates.size());
}

// Nobody is accused by one partner.
Culprit undecided(Node node, const Meeting& meeting, const Nodes& nodes) {
  return {
      .kind = Culprit::Kind::not_enough_data,
      .nodes = {node},
      .evidence = {fmt::format("{} is slow with {}, and there is nobody else to measure it with",
                               nodes.names[node], nodes.names[meeting.partner])}};
}

}  // namespace

Result<Suspicion> tournament(const Nodes& nodes, Rounds& rounds, Search& search) {
  const auto count = nodes.count();
  Table table(count);
  double noise = 0;
  for (std::size_t i = 0; i < tournament_rounds(count); ++i) {
    auto pairs = tournament_round(count, i);
    std::erase_if(
        pairs, [&](const Pair& pair) { return nodes.zone(pair.first) != nodes.zone(pair.second); });
    if (pairs.empty()) continue;
    const auto groups = groups_of(pairs);
    TRY_ASSIGN(const auto round, count <= kFew ? rounds.measure("all pairs", groups)
                                               : rounds.measure("all pairs", groups, 1));
    table.add(round, rounds.rule());
    noise = std::max(noise, round.noise);
    if (count <= kFew) search.keep(round);
  }
  std::vector<std::optional<double>> scores(count);
  std::vector<double> known;
  for (Node node = 0; node < count; ++node) {
    scores[node] = table.score(node);
    if (scores[node]) known.push_back(*scores[node]);
  }
  search.scale = first_scale(known, noise / 2, rounds.rule());
  const auto scale = search.scale ? search.scale : scale_of_hangs(known, noise);
  if (!scale) return Suspicion{};
  Suspicion suspicion{.slow = {}, .pairs = {}, .proven = {}, .scale = *scale};
  std::vector<bool> slow(count, true);
  for (Node node = 0; node < count; ++node) {
    if (!scores[node]) continue;
    slow[node] = scale->low(*scores[node]);
    if (slow[node]) {
      auto suspect = table.suspect(node, *scale);
      const bool by_one = suspect.meetings.size() < 2 && count > 2;
      if (by_one) search.culprits.push_back(undecided(node, suspect.meetings.front(), nodes));
      if (!by_one) suspicion.slow.push_back(std::move(suspect));
    } else {
      suspicion.proven.push_back(node);
    }
  }
  suspicion.pairs = slow_pairs(table, scores, slow, noise, rounds.rule());
  return suspicion;
}

}  // namespace muster::bench::locate
