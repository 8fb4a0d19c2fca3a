// SPDX-License-Identifier: Apache-2.0
// The two ways to find suspects. For few faults among many nodes: disjoint pairs, then each suspect
// with proven partners. For few nodes, and to accept a cluster: all pairs, in n - 1 rounds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "bench/locate/locate.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::locate {
namespace {

std::vector<Node> partners_of(const Suspect& suspect) {
  std::vector<Node> met;
  for (const auto& meeting : suspect.meetings) met.push_back(meeting.partner);
  return met;
}

// Measures suspects again, each with a proven partner that it has not met.
class Retest {
 public:
  Retest(Rounds& rounds, SearchResult& result, Suspicion& suspicion)
      : rounds_(rounds), result_(result), suspicion_(suspicion) {}

  // Measures each suspect, then once more those that are neither low nor fine, and those that are
  // slow by one measurement only.
  [[nodiscard]] Result<void> run(std::vector<Suspect> suspects) {
    TRY(measure(std::move(suspects)));
    auto once = std::exchange(unclear_, {});
    std::erase_if(suspicion_.slow, [&](const Suspect& suspect) {
      if (suspect.meetings.size() > 1) return false;
      once.push_back(suspect);
      return true;
    });
    TRY(measure(std::move(once)));
    for (const auto& suspect : unclear_) {
      if (suspect.meetings.empty()) continue;  // all paths to it are known to be slow
      result_.culprits.push_back(
          not_enough_data(fmt::format("{} is neither slow nor fine with {} partners",
                                      result_.nodes.names[suspect.node], suspect.meetings.size()),
                          {suspect.node}));
    }
    return {};
  }

 private:
  // Takes several rounds if there are too few partners for one. A second measurement with the same
  // partner would make a slow path look like a slow node.
  [[nodiscard]] Result<void> measure(std::vector<Suspect> suspects) {
    const auto proven = suspicion_.proven;
    while (!suspects.empty() && !proven.empty()) {
      auto partners = proven;
      std::vector<Pair> pairs;
      std::vector<Suspect> waiting;
      std::erase_if(suspects, [&](Suspect& suspect) {
        const auto partner =
            partner_of(suspect.node, partners, partners_of(suspect), result_.nodes);
        if (partner == partners.end()) {
          waiting.push_back(std::move(suspect));
          return true;
        }
        pairs.emplace_back(suspect.node, *partner);
        partners.erase(partner);
        return false;
      });
      if (pairs.empty()) {  // they have met all proven nodes
        append(unclear_, std::move(waiting));
        return {};
      }
      TRY(measure_round(std::move(suspects), std::move(pairs), std::move(partners)));
      suspects = std::move(waiting);
    }
    return {};
  }

  // Each suspect in its pair; `others` are proven nodes without a suspect.
  [[nodiscard]] Result<void> measure_round(std::vector<Suspect> suspects, std::vector<Pair> pairs,
                                           std::vector<Node> others) {
    constexpr std::size_t kMaxControls = 32;
    append(pairs, take_controls(others, kMaxControls, result_.nodes));
    TRY_ASSIGN(const auto round,
               rounds_.measure("suspects with proven partners", groups_of(pairs)));
    result_.keep_pairs(round);
    const auto scale = scale_from(round, suspects.size(), suspicion_.scale);
    for (std::size_t i = 0; i < suspects.size(); ++i) {
      auto& suspect = suspects[i];
      const auto& gbps = round.gbps[i];
      suspect.meetings.push_back({pairs[i].second, gbps, scale});
      if (scale.fine(gbps)) {
        suspicion_.proven.push_back(suspect.node);
      } else {
        (scale.low(gbps) ? suspicion_.slow : unclear_).push_back(std::move(suspect));
      }
    }
    return {};
  }

  Rounds& rounds_;
  SearchResult& result_;
  Suspicion& suspicion_;
  std::vector<Suspect> unclear_;
};

constexpr std::size_t kFew = 64;  // with more nodes, pairs are not repeated

// The rates of all pairs: 0 if a pair did not finish, negative if it was not measured.
class RateTable {
 public:
  explicit RateTable(std::size_t nodes) : nodes_(nodes), rates_(nodes * nodes, kUnmeasured) {}

  // Removes drift from round to round: all rounds get the same median, unless it is so far off that
  // half of the pairs must be slow.
  void add_round(const Round& round) {
    constexpr double kMaxDrift = 0.1;
    auto values = finished(round);
    double factor = 1;
    if (values.size() >= 2 * kEnough) {
      const double median = median_of(std::move(values));
      if (first_median_ == 0) first_median_ = median;
      if (std::abs(median / first_median_ - 1) < kMaxDrift) factor = first_median_ / median;
    }
    for (std::size_t i = 0; i < round.size(); ++i) {
      const auto a = round.groups[i].nodes[0];
      const auto b = round.groups[i].nodes[1];
      const auto rate = static_cast<float>(factor * round.gbps[i].value_or(0));
      rates_[a * nodes_ + b] = rates_[b * nodes_ + a] = rate;
    }
  }

  [[nodiscard]] bool measured(Node a, Node b) const { return rates_[a * nodes_ + b] >= 0; }

  [[nodiscard]] double at(Node a, Node b) const {
    return static_cast<double>(rates_[a * nodes_ + b]);
  }

  [[nodiscard]] std::optional<double> rate(Node a, Node b) const {
    return at(a, b) > 0 ? std::optional(at(a, b)) : std::nullopt;
  }

  // The capability of a node, whatever its partners: the rate of its best pair. Without repeats
  // that would be luck: then what a quarter of its pairs reach. Empty for a node without a partner.
  [[nodiscard]] std::optional<double> score(Node node) const {
    std::vector<float> own;
    own.reserve(nodes_);
    for (Node other = 0; other < nodes_; ++other) {
      if (measured(node, other)) own.push_back(rates_[node * nodes_ + other]);
    }
    if (own.empty()) return {};
    const auto place = own.begin() + static_cast<std::ptrdiff_t>(better_than_score(own.size()));
    std::nth_element(own.begin(), place, own.end(), std::greater<>());
    return static_cast<double>(*place);
  }

  // The node with the three partners that gave it its score.
  [[nodiscard]] Suspect suspect(Node node, const Scale& scale) const {
    constexpr std::size_t kShown = 3;
    Suspect suspect{.node = node};
    auto& meetings = suspect.meetings;
    for (Node other = 0; other < nodes_; ++other) {
      if (measured(node, other)) meetings.push_back({other, rate(node, other), scale});
    }
    std::ranges::stable_sort(meetings, std::greater<>(),
                             [](const Meeting& meeting) { return meeting.gbps.value_or(0); });
    const auto better = static_cast<std::ptrdiff_t>(better_than_score(meetings.size()));
    meetings.erase(meetings.begin(), meetings.begin() + better);
    meetings.resize(std::min(kShown, meetings.size()));
    return suspect;
  }

 private:
  static constexpr float kUnmeasured = -1;

  [[nodiscard]] std::size_t better_than_score(std::size_t pairs) const {
    return nodes_ <= kFew ? 0 : (pairs - 1) / 4;
  }

  std::size_t nodes_;
  std::vector<float> rates_;
  double first_median_ = 0;
};

// The slow pairs of fine nodes, the slowest first. Each node is in one of them at most, so that all
// can be measured again at once.
std::vector<SlowPair> slow_pairs(const RateTable& table,
                                 const std::vector<std::optional<double>>& scores,
                                 const std::vector<bool>& slow, const Round& like) {
  constexpr double kFar = 0.9;
  const auto usual = [&](Node a, Node b) { return std::min(*scores[a], *scores[b]); };
  const auto each_pair = [&](const auto& visit) {
    for (Node a = 0; a < scores.size(); ++a) {
      for (Node b = a + 1; b < scores.size() && !slow[a]; ++b) {
        if (!slow[b] && table.measured(a, b)) visit(a, b, table.at(a, b) / usual(a, b));
      }
    }
  };
  // The spread of healthy pairs, without those far below what their nodes can do: these may be many
  // for one reason.
  std::vector<double> shares;
  shares.reserve(scores.size() * scores.size() / 2);
  each_pair([&](Node, Node, double share) {
    if (share >= kFar) shares.push_back(share);
  });
  const auto scale = scale_of(shares, like.noise, like.tolerance);
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
    const auto own =
        scale.value_or(Scale{.count = 1, .median = 1, .deviation = like.noise, .limit = 0});
    pairs.push_back({pair, table.rate(a, b), own.times(usual(a, b))});
  }
  return pairs;
}

}  // namespace

Result<Suspicion> screen(Rounds& rounds, SearchResult& result) {
  const auto& nodes = result.nodes;
  const auto pairs = pairs_across(nodes);
  TRY_ASSIGN(const auto round, rounds.measure("disjoint pairs, all at once", groups_of(pairs)));
  result.keep_pairs(round);
  result.scale = first_scale(finished(round), round.noise, rounds.floor(), rounds.tolerance());
  if (!result.scale) return Suspicion{};
  Suspicion suspicion{.scale = *result.scale};
  std::vector<Suspect> suspects;
  std::vector<SlowPair> slow;
  std::vector<bool> met(nodes.count());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto [a, b] = pairs[i];
    met[a] = met[b] = true;
    const auto& gbps = round.gbps[i];
    if (suspicion.scale.fine(gbps)) {
      append(suspicion.proven, {a, b});
      continue;
    }
    suspects.push_back({.node = a, .meetings = {{b, gbps, suspicion.scale}}});
    suspects.push_back({.node = b, .meetings = {{a, gbps, suspicion.scale}}});
    if (suspicion.scale.low(gbps)) slow.push_back({pairs[i], gbps, suspicion.scale});
  }
  // Measures the node that had no partner, and once more if it is slow.
  for (Node node = 0; node < nodes.count(); ++node) {
    if (!met[node]) suspects.push_back({.node = node});
  }
  TRY(Retest(rounds, result, suspicion).run(std::move(suspects)));
  std::ranges::copy_if(slow, std::back_inserter(suspicion.pairs), [&](const SlowPair& each) {
    const auto fine = [&](Node node) { return std::ranges::count(suspicion.proven, node) > 0; };
    return fine(each.pair.first) && fine(each.pair.second);
  });
  return suspicion;
}

Result<Suspicion> tournament(Rounds& rounds, SearchResult& result) {
  const auto& nodes = result.nodes;
  const auto count = nodes.count();
  RateTable table(count);
  double noise = 0;
  for (std::size_t i = 0; i < tournament_rounds(count); ++i) {
    auto pairs = tournament_round(count, i);
    std::erase_if(pairs,
                  [&](const Pair& pair) { return !nodes.may_meet(pair.first, pair.second); });
    if (pairs.empty()) continue;
    const bool few = count <= kFew;
    TRY_ASSIGN(const auto round, rounds.measure("all pairs", groups_of(pairs),
                                                few ? std::nullopt : std::optional(1)));
    table.add_round(round);
    noise = std::max(noise, round.noise);
    if (few) result.keep_pairs(round);
  }
  std::vector<std::optional<double>> scores(count);
  std::vector<double> known;
  for (Node node = 0; node < count; ++node) {
    scores[node] = table.score(node);
    if (scores[node]) known.push_back(*scores[node]);
  }
  result.scale = first_scale(known, noise / 2, rounds.floor(), rounds.tolerance());
  auto scale = result.scale;
  if (!scale) {
    // There are too few scores for a verdict on all nodes, but one that is far slower than the
    // others is at fault.
    const double best = known.empty() ? 0 : std::ranges::max(known);
    if (best <= 0) return Suspicion{};
    scale = scale_of_few(best, noise / 2, known.size(), {});
  }
  Suspicion suspicion{.scale = *scale};
  std::vector<bool> slow(count, true);
  for (Node node = 0; node < count; ++node) {
    if (!scores[node]) continue;
    slow[node] = scale->low(*scores[node]);
    if (!slow[node]) {
      suspicion.proven.push_back(node);
      continue;
    }
    auto suspect = table.suspect(node, *scale);
    if (suspect.meetings.size() < 2 && count > 2) {
      // A single partner is not enough to accuse a node.
      result.culprits.push_back(not_enough_data(
          fmt::format("{} is slow with {}, and has no other partner", nodes.names[node],
                      nodes.names[suspect.meetings.front().partner]),
          {node}));
    } else {
      suspicion.slow.push_back(std::move(suspect));
    }
  }
  suspicion.pairs =
      slow_pairs(table, scores, slow,
                 {.groups = {}, .gbps = {}, .noise = noise, .tolerance = rounds.tolerance()});
  return suspicion;
}

}  // namespace muster::bench::locate
