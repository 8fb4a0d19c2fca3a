// SPDX-License-Identifier: Apache-2.0
// Faults that show only while many nodes work in one all-reduce: finds the smallest set that shows
// it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "bench/locate/findings.hpp"
#include "bench/locate/locate.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::locate {
namespace {

// Healthy large groups lose a few percent.
constexpr double kLossOfGroups = 0.1;
constexpr int kMaxFaults = 16;

using NodeSet = std::vector<Node>;

struct Halves {
  NodeSet first, second;
};

Halves halves_of(const NodeSet& all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() + 1) / 2);
  return {{all.begin(), middle}, {middle, all.end()}};
}

// Returns parts whose sizes differ by at most one, without empty ones.
std::vector<NodeSet> parts_of(const NodeSet& all, std::size_t count) {
  std::vector<NodeSet> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(all.size() * i / count);
    const auto end = static_cast<std::ptrdiff_t>(all.size() * (i + 1) / count);
    if (begin < end) parts.push_back({all.begin() + begin, all.begin() + end});
  }
  return parts;
}

// Lets the NVLink domains take turns, so that parts of the set span them.
NodeSet spread(NodeSet all, const Nodes& nodes) {
  if (nodes.domains.empty()) return all;
  std::map<int, int> counts;
  std::map<Node, int> turns;
  for (const auto node : all) turns[node] = counts[nodes.domains[node]]++;
  std::ranges::stable_sort(all, {}, [&](Node node) { return turns[node]; });
  return all;
}

// Joins two sets; empty if one of them is empty.
NodeSet join(NodeSet a, const NodeSet& b) {
  if (a.empty() || b.empty()) return {};
  append(a, b);
  return a;
}

NodeSet without(NodeSet all, const NodeSet& some) {
  std::erase_if(all, [&](Node node) { return std::ranges::find(some, node) != some.end(); });
  return all;
}

class Bisection {
 public:
  // `all` together reach less than `usual`, the rate of healthy pairs.
  Bisection(Rounds& rounds, const Nodes& nodes, NodeSet all, double reached, const Scale& usual)
      : rounds_(rounds), nodes_(nodes), all_(spread(std::move(all), nodes)), usual_(usual) {
    // A rate nearer to that of all nodes than to that of pairs shows the fault. With a severe
    // fault, a lesser one does, too.
    usual_.limit = std::max((reached + usual.median) / 2, (1 - kLossOfGroups) * usual.median);
  }

  // Empty if as many other nodes are as slow: then this is the normal rate for that many nodes.
  [[nodiscard]] Result<std::optional<Culprit>> run() {
    TRY_ASSIGN(shown_, shrink());
    suspects_ = shown_;
    const bool most = 2 * shown_.size() > all_.size();
    TRY(most && shown_.size() > 2 ? leave_out() : substitute());
    return confirm();
  }

 private:
  // The index of the slowest of these sets that shows the fault; measures them at once.
  [[nodiscard]] Result<std::optional<std::size_t>> slowest(const std::vector<NodeSet>& sets) {
    std::vector<NodeGroup> groups;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (sets[i].size() < 2 || !nodes_.are_comparable(sets[i])) continue;
      groups.push_back({.nodes = sets[i]});
      places.push_back(i);
    }
    std::optional<std::size_t> found;
    if (groups.empty()) return found;
    TRY_ASSIGN(const auto round, rounds_.measure("parts of the slow group", std::move(groups)));
    double lowest = usual_.limit;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double gbps = round.gbps[i].value_or(0);
      if (gbps >= lowest) continue;
      lowest = gbps;
      found = places[i];
    }
    return found;
  }

  // Halves the set as long as a half shows the fault.
  [[nodiscard]] Result<NodeSet> shrink() {
    auto all = all_;
    while (all.size() > 2) {
      auto [a, b] = halves_of(all);
      TRY_ASSIGN(const auto found, slowest({a, b}));
      if (!found) return narrow(std::move(a), std::move(b));
      all = *found == 0 ? std::move(a) : std::move(b);
    }
    return all;
  }

  // Two parts show the fault only together: halves both as long as two of the halves do.
  [[nodiscard]] Result<NodeSet> narrow(NodeSet a, NodeSet b) {
    while (a.size() > 1 || b.size() > 1) {
      const auto [a1, a2] = halves_of(a);
      const auto [b1, b2] = halves_of(b);
      const std::vector<std::pair<Halves, Halves>> tries{{{a1, b1}, {a2, b2}},
                                                         {{a1, b2}, {a2, b1}}};
      std::optional<Halves> next;
      for (const auto& [x, y] : tries) {
        TRY_ASSIGN(const auto found, slowest({join(x.first, x.second), join(y.first, y.second)}));
        if (!found) continue;
        next = *found == 0 ? x : y;
        break;
      }
      if (!next) break;
      a = std::move(next->first);
      b = std::move(next->second);
    }
    return join(std::move(a), b);
  }

  // In groups of the same size, repeatedly substitutes other nodes for half of the suspects.
  [[nodiscard]] Result<void> substitute() {
    const auto others = without(all_, shown_);
    const auto size = shown_.size();
    while (suspects_.size() > 1) {
      const auto [a, b] = halves_of(suspects_);
      const auto need_a = size - a.size();
      const auto need_b = size - b.size();
      if (others.size() < std::max(need_a, need_b)) return {};
      const auto fill = [&](NodeSet part, std::size_t from, std::size_t count) {
        const auto begin = others.begin() + static_cast<std::ptrdiff_t>(from);
        append(part, {begin, begin + static_cast<std::ptrdiff_t>(count)});
        return part;
      };
      std::optional<std::size_t> slow;
      const bool at_once = others.size() >= need_a + need_b;
      const std::vector<NodeSet> sets{fill(a, 0, need_a), fill(b, at_once ? need_a : 0, need_b)};
      if (at_once) {
        TRY_ASSIGN(slow, slowest(sets));
      }
      for (std::size_t i = 0; i < sets.size() && !at_once && !slow; ++i) {
        TRY_ASSIGN(const auto found, slowest({sets[i]}));
        if (found) slow = i;
      }
      if (!slow) return {};
      suspects_ = *slow == 0 ? a : b;
      shown_ = sets[*slow];
    }
    return {};
  }

  // If there are too few other nodes to substitute: finds the part without which all others are
  // fine, then a part of that, and so on.
  [[nodiscard]] Result<void> leave_out() {
    auto suspects = all_;
    std::size_t parts = 4;
    while (suspects.size() > 1 && parts <= 2 * suspects.size()) {
      std::vector<NodeSet> guilty;
      std::size_t tried = 0;
      for (const auto& part : parts_of(suspects, parts)) {
        const auto rest = without(all_, part);
        if (rest.size() < 2) return {};
        if (!nodes_.are_comparable(rest)) continue;
        TRY_ASSIGN(const auto gbps, rounds_.measure_one("all but a part of them", rest));
        ++tried;
        if (usual_.low(gbps)) continue;
        guilty.push_back(part);
        control_ = gbps;
      }
      if (guilty.size() == 1) {
        suspects = guilty.front();
        parts = 2;
      } else if (guilty.size() == tried) {
        parts *= 2;  // too few nodes to show it
      } else {
        break;
      }
    }
    if (suspects.size() > 1) {
      control_.reset();
      return {};
    }
    suspects_ = std::move(suspects);
    shown_ = all_;
    return {};
  }

  // Measures the fault once more, and a control.
  [[nodiscard]] Result<std::optional<Culprit>> confirm() {
    const std::optional<Culprit> none;
    TRY_ASSIGN(const auto gbps, rounds_.measure_one("the slow group, alone", shown_));
    if (!usual_.low(gbps)) return shown_.size() < all_.size() ? congestion(gbps) : none;
    auto others = without(all_, shown_);
    if (control_) {
      TRY_ASSIGN(control_, rounds_.measure_one("all but one", without(all_, suspects_)));
      // Ignores run-to-run variation.
      const bool better = control_ && (1 - kLossOfGroups) * *control_ > gbps.value_or(0);
      if (!better || usual_.low(control_)) return none;
    } else if (others.size() >= shown_.size()) {
      // Measured in the same round, since rates may drift from one to the next.
      others.resize(shown_.size());
      if (!nodes_.are_comparable(others)) return none;
      TRY_ASSIGN(const auto both, rounds_.measure("the slow group, and as many others",
                                                  {{.nodes = shown_}, {.nodes = others}}));
      control_ = both.gbps[1];
      const bool better = control_ && (1 - kTolerance) * *control_ > both.gbps[0].value_or(0);
      if (!better || usual_.low(control_)) return none;
    } else if (shown_.size() == all_.size()) {
      return none;  // no other nodes are left to compare with
    }
    return conclude(gbps);
  }

  [[nodiscard]] std::optional<Culprit> congestion(const std::optional<double>& alone) const {
    return Culprit{.kind = Culprit::Kind::congestion,
                   .nodes = shown_,
                   .together = shown_.size(),
                   .gbps = alone.value_or(0),
                   .share = usual_.share(alone),
                   .evidence = {fmt::format(
                       "{} nodes are slow together while the others work; alone they reach {} GB/s",
                       shown_.size(), rate_text(alone.value_or(0)))}};
  }

  [[nodiscard]] std::optional<Culprit> conclude(const std::optional<double>& gbps) const {
    using Kind = Culprit::Kind;
    const double odds = odds_of(gbps, usual_);
    Culprit culprit{.kind = suspects_.size() == 1 ? Kind::node
                            : shown_.size() == 2  ? Kind::link
                                                  : Kind::group,
                    .nodes = suspects_,
                    .together = shown_.size(),
                    .hung = !gbps,
                    .gbps = gbps.value_or(0),
                    .share = usual_.share(gbps),
                    .probability = probability_of({odds, odds})};
    const auto shown =
        culprit.kind == Kind::node
            ? fmt::format("{} with {} others", nodes_.names[suspects_[0]], shown_.size() - 1)
            : fmt::format("{} nodes", shown_.size());
    culprit.evidence.push_back(fmt::format(
        "all {} nodes together, then parts of them, then {} alone: {}", all_.size(), shown,
        gbps ? fmt::format("{} GB/s, {:.0f}% of {} that healthy pairs reach", rate_text(*gbps),
                           kPercent * culprit.share, rate_text(usual_.median))
             : "did not finish"));
    if (control_) {
      culprit.evidence.push_back(fmt::format(
          "{}: {} GB/s", shown_.size() < all_.size() ? "as many others" : "all but this one",
          rate_text(*control_)));
    }
    culprit.ruled_out = {culprit.kind == Kind::link
                             ? "the two nodes: each is fine with another partner"
                             : "pairs: each of these nodes is fine with one partner",
                         "congestion: it is slow while no other node works"};
    return culprit;
  }

  Rounds& rounds_;
  const Nodes& nodes_;
  NodeSet all_;
  Scale usual_;
  NodeSet shown_;     // the smallest set that shows it
  NodeSet suspects_;  // the nodes of it that it follows
  std::optional<double> control_;
};

// Whether a fault is known that slows any large group down.
bool is_common(const SearchResult& result) {
  return std::ranges::any_of(result.culprits, [](const Culprit& culprit) {
    return !is_left_out(culprit) && culprit.kind != Culprit::Kind::everyone;
  });
}

// The nodes of a job with this culprit and without the others; empty if there is no such job.
NodeSet job_with(const Culprit& culprit, const SearchResult& result) {
  NodeSet all = result.together->nodes;
  for (const auto node : culprit.nodes) {
    if (std::ranges::count(all, node) > 0) continue;
    const auto is_other = [&](const Culprit& each) {
      if (&each == &culprit || each.kind == Culprit::Kind::link) return false;
      return is_left_out(each) && std::ranges::count(each.nodes, node) > 0;
    };
    if (std::ranges::none_of(result.culprits, is_other)) all.push_back(node);
  }
  std::ranges::sort(all);
  return all.size() > result.together->nodes.size() ? all : NodeSet{};
}

// Measures the jobs with one culprit each; of many culprits, those with the slowest ones.
Result<void> measure_costs(Rounds& rounds, SearchResult& result) {
  constexpr std::size_t kMax = 16;
  std::vector<Culprit*> candidates;
  for (auto& each : result.culprits) {
    if (is_left_out(each) && !each.hung) candidates.push_back(&each);
  }
  std::ranges::stable_sort(candidates, {}, &Culprit::share);
  candidates.resize(std::min(candidates.size(), kMax));
  for (auto* each : candidates) {
    const auto job = job_with(*each, result);
    if (job.empty()) continue;
    TRY_ASSIGN(const auto gbps, rounds.measure_together(job));
    each->job_gbps = std::min(gbps.value_or(0), *result.together->gbps);
  }
  return {};
}

// Sets result.together, and adds what bisecting shows.
Result<void> find_together(Rounds& rounds, SearchResult& result) {
  const auto& nodes = result.nodes;
  for (int found = 0; found <= kMaxFaults; ++found) {
    NodeSet all(nodes.count());
    std::iota(all.begin(), all.end(), Node{0});
    auto rest = without(std::move(all), left_out(result.culprits));
    if (rest.size() < 2 || nodes.count() == 2 || !nodes.are_comparable(rest)) return {};
    TRY_ASSIGN(const auto gbps, rounds.measure_together(rest));
    result.together = Together{.nodes = rest, .gbps = gbps};
    if (!falls_behind(gbps, *result.scale) || is_common(result) || rest.size() == 2) return {};
    TRY_ASSIGN(auto slow,
               Bisection(rounds, nodes, std::move(rest), gbps.value_or(0), *result.scale).run());
    if (!slow) return {};
    if (slow->kind == Culprit::Kind::link) {
      result.pairs.push_back({.pair = {slow->nodes[0], slow->nodes[1]},
                              .gbps = slow->hung ? std::nullopt : std::optional(slow->gbps)});
    }
    result.culprits.push_back(*std::move(slow));
  }
  return {};
}

}  // namespace

bool is_left_out(const Culprit& culprit) {
  using Kind = Culprit::Kind;
  return culprit.kind == Kind::node || culprit.kind == Kind::leaf || culprit.kind == Kind::link;
}

std::vector<Node> left_out(const std::vector<Culprit>& culprits) {
  std::set<Node> out;
  for (const auto& culprit : culprits) {
    if (culprit.kind == Culprit::Kind::node || culprit.kind == Culprit::Kind::leaf) {
      out.insert(culprit.nodes.begin(), culprit.nodes.end());
    }
  }
  for (const auto& culprit : culprits) {
    if (culprit.kind != Culprit::Kind::link) continue;
    const auto is_out = [&](Node node) { return out.contains(node); };
    if (std::ranges::none_of(culprit.nodes, is_out)) out.insert(culprit.nodes.front());
  }
  return {out.begin(), out.end()};
}

double job_rate(const Culprit& culprit, const SearchResult& result) {
  if (culprit.hung) return 0;
  const double own = culprit.gbps * (culprit.of_device ? result.nodes.devices : 1);
  return culprit.job_gbps.value_or(std::min(own, result.together_gbps().value_or(own)));
}

double job_cost(const Culprit& culprit, const SearchResult& result) {
  const double with = job_rate(culprit, result);
  if (result.together_gbps() && is_left_out(culprit)) return *result.together_gbps() - with;
  if (culprit.share > 0) return with * (1 / culprit.share - 1);
  return result.scale ? result.scale->median : 0;
}

bool falls_behind(const std::optional<double>& gbps, const Scale& of_pairs) {
  return !gbps || *gbps < (1 - kLossOfGroups) * of_pairs.median;
}

Result<void> measure_together(Rounds& rounds, SearchResult& result) {
  TRY(find_together(rounds, result));
  if (!result.together_gbps()) return {};
  TRY_ASSIGN(result.together->algorithm, rounds.algorithm_among(result.together->nodes));
  return measure_costs(rounds, result);
}

}  // namespace muster::bench::locate
