// SPDX-License-Identifier: Apache-2.0
// The strategy for the acceptance of a cluster, and for few nodes: all pairs, in n - 1 rounds.
#include <algorithm>
#include <cmath>
#include <functional>

#include "bench/locate/explain.hpp"
#include "bench/locate/locate.hpp"
#include "bench/results/statistics.hpp"

namespace muster::bench::locate {
namespace {

// All rates; 0 where a pair did not finish.
class Table {
 public:
  explicit Table(std::size_t nodes) : nodes_(nodes), rates_(nodes * nodes, 0) {}

  // What drifts from round to round is taken out: each round has the same median.
  void add(const Round& round, const Rule& rule) {
    auto values = finished(round);
    double factor = 1;
    if (values.size() >= 2 * rule.enough) {
      const double median = median_of(std::move(values));
      if (first_ == 0) first_ = median;
      factor = first_ / median;
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

  // What the best quarter of its pairs reach at least: bad partners do not lower it, and the best
  // of many would be luck.
  [[nodiscard]] double score(Node node) const {
    std::vector<float> own;
    own.reserve(nodes_ - 1);
    for (Node other = 0; other < nodes_; ++other) {
      if (other != node) own.push_back(rates_[node * nodes_ + other]);
    }
    const auto place = static_cast<std::ptrdiff_t>((own.size() - 1) / 4);
    std::nth_element(own.begin(), own.begin() + place, own.end(), std::greater<>());
    return static_cast<double>(own[static_cast<std::size_t>(place)]);
  }

  // Three partners with which it reached its score, and how it did.
  [[nodiscard]] Suspect suspect(Node node, const Scale& scale) const {
    constexpr std::size_t kShown = 3;
    Suspect suspect{.node = node};
    for (Node other = 0; other < nodes_; ++other) {
      if (other == node) continue;
      const double rate = at(node, other);
      suspect.meetings.push_back({other, rate > 0 ? std::optional(rate) : std::nullopt, scale});
    }
    std::ranges::stable_sort(suspect.meetings, std::greater<>(), [](const Meeting& meeting) {
      return meeting.gbps.value_or(0);
    });
    const auto better = static_cast<std::ptrdiff_t>((suspect.meetings.size() - 1) / 4);
    suspect.meetings.erase(suspect.meetings.begin(), suspect.meetings.begin() + better);
    suspect.meetings.resize(std::min(kShown, suspect.meetings.size()));
    return suspect;
  }

 private:
  std::size_t nodes_;
  std::vector<float> rates_;
  double first_ = 0;
};

// Pairs that are slow although both nodes are fine. Each node stands in one of them at most, so
// that all can be measured again at once; the slowest come first.
std::vector<SlowPair> slow_pairs(const Table& table,
                                 const std::vector<double>& scores,
                                 const std::vector<bool>& slow,
                                 double noise,
                                 const Rule& rule) {
  std::vector<double> shares;
  shares.reserve(scores.size() * scores.size() / 2);
  const auto each_pair = [&](const auto& visit) {
    for (Node a = 0; a < scores.size(); ++a) {
      for (Node b = a + 1; b < scores.size() && !slow[a]; ++b) {
        if (!slow[b]) visit(a, b, table.at(a, b) / std::min(scores[a], scores[b]));
      }
    }
  };
  each_pair([&](Node, Node, double share) { shares.push_back(share); });
  const auto scale = scale_of(shares, noise, rule);
  if (!scale) return {};
  std::vector<std::pair<double, Pair>> low;
  each_pair([&](Node a, Node b, double share) {
    if (scale->low(share)) low.push_back({share, {a, b}});
  });
  std::ranges::sort(low);
  std::vector<bool> taken(scores.size());
  std::vector<SlowPair> pairs;
  for (const auto& [share, pair] : low) {
    const auto [a, b] = pair;
    if (taken[a] || taken[b]) continue;
    taken[a] = taken[b] = true;
    auto own = *scale;
    const double usual = std::min(scores[a], scores[b]);
    for (auto* value : {&own.median, &own.deviation, &own.limit}) *value *= usual;
    const double rate = table.at(a, b);
    pairs.push_back({pair, rate > 0 ? std::optional(rate) : std::nullopt, own});
  }
  return pairs;
}

}  // namespace

Result<Suspicion> tournament(const Nodes& nodes, Rounds& rounds, Search& search) {
  constexpr std::size_t kFew = 64;  // up to here each pair is repeated
  const auto count = nodes.count();
  Table table(count);
  double noise = 0;
  for (std::size_t i = 0; i < tournament_rounds(count); ++i) {
    const auto groups = groups_of(tournament_round(count, i));
    const auto round = count <= kFew ? rounds.measure("all pairs", groups)
                                     : rounds.measure("all pairs", groups, 1);
    if (!round) return tl::unexpected(round.error());
    table.add(*round, rounds.rule());
    noise = std::max(noise, round->noise);
    if (count > kFew) continue;
    for (std::size_t k = 0; k < round->size(); ++k) {
      const auto& pair = round->groups[k].nodes;
      search.pairs.push_back({{pair[0], pair[1]}, round->gbps[k]});
    }
  }
  std::vector<double> scores(count);
  for (Node node = 0; node < count; ++node) scores[node] = table.score(node);
  search.scale = first_scale(scores, noise / 2, rounds.rule());
  if (!search.scale) return Suspicion{};
  Suspicion suspicion{.slow = {}, .pairs = {}, .proven = {}, .scale = *search.scale};
  std::vector<bool> slow(count);
  for (Node node = 0; node < count; ++node) {
    slow[node] = search.scale->low(scores[node]);
    if (slow[node]) {
      suspicion.slow.push_back(table.suspect(node, *search.scale));
    } else {
      suspicion.proven.push_back(node);
    }
  }
  suspicion.pairs = slow_pairs(table, scores, slow, noise, rounds.rule());
  return suspicion;
}

}  // namespace muster::bench::locate
