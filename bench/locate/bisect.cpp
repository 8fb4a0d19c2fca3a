// SPDX-License-Identifier: Apache-2.0
// What shows only where many nodes work in one all-reduce: which of them it takes.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "bench/locate/findings.hpp"
#include "bench/locate/locate.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::locate {
namespace {

// Large groups lose a few percent that are nobody's fault.
constexpr double kLossOfGroups = 0.1;
constexpr int kMostFaults = 16;

using Set = std::vector<Node>;

struct Halves {
  Set first, second;
};

Halves halves_of(const Set& all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() + 1) / 2);
  return {{all.begin(), middle}, {middle, all.end()}};
}

// Of sizes that differ by one at most; the empty ones are left out.
std::vector<Set> parts_of(const Set& all, std::size_t count) {
  std::vector<Set> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(all.size() * i / count);
    const auto end = static_cast<std::ptrdiff_t>(all.size() * (i + 1) / count);
    if (begin < end) parts.push_back({all.begin() + begin, all.begin() + end});
  }
  return parts;
}

Set join(const Set& a, const Set& b) {
  Set both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

Set without(const Set& all, const Set& some) {
  Set rest;
  std::ranges::copy_if(all, std::back_inserter(rest),
                       [&](Node node) { return std::ranges::find(some, node) == some.end(); });
  return rest;
}

class Bisection {
 public:
  // `all` reach together what falls behind `usual`, the rate of healthy pairs.
  Bisection(Rounds& rounds, const Nodes& nodes, Set all, double reached, const Scale& usual)
      : rounds_(rounds), nodes_(nodes), all_(std::move(all)), usual_(usual) {
    // What is nearer to what all reach than to what pairs do shows the fault; and beside a grave
    // one, so does a lesser one.
    usual_.limit = std::max((reached + usual.median) / 2, (1 - kLossOfGroups) * usual.median);
  }

  // Nothing where as many others are as slow: then it is what so many nodes reach.
  [[nodiscard]] Result<std::optional<Culprit>> run() {
    if (auto done = put(shown_, shrink()); !done) return tl::unexpected(done.error());
    suspects_ = shown_;
    const bool most = 2 * shown_.size() > all_.size();
    TRY(most && shown_.size() > 2 ? leave_out() : follow());
    return confirm();
  }

 private:
  // The place of the slowest of these that shows the fault; they run at the same time.
  [[nodiscard]] Result<std::optional<std::size_t>> slowest(const std::vector<Set>& sets) {
    std::vector<Group> groups;
    std::vector<std::size_t> of;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (sets[i].size() < 2) continue;
      groups.push_back({.nodes = sets[i]});
      of.push_back(i);
    }
    std::optional<std::size_t> found;
    if (groups.empty()) return found;
    TRY_ASSIGN(const auto round,
               rounds_.measure("parts of what is slow together", std::move(groups)));
    double lowest = usual_.limit;
    for (std::size_t i = 0; i < of.size(); ++i) {
      const double gbps = round.gbps[i].value_or(0);
      if (gbps >= lowest) continue;
      lowest = gbps;
      found = of[i];
    }
    return found;
  }

  // The half that shows it, and its half …; where neither does, what the two show together.
  [[nodiscard]] Result<Set> shrink() {
    Set all = all_;
    while (all.size() > 2) {
      auto [a, b] = halves_of(all);
      TRY_ASSIGN(const auto found, slowest({a, b}));
      if (!found) return narrow(std::move(a), std::move(b));
      all = *found == 0 ? std::move(a) : std::move(b);
    }
    return all;
  }

  // Two parts that show it with each other alone: a half of each, as long as that does.
  [[nodiscard]] Result<Set> narrow(Set a, Set b) {
    while (a.size() > 1 || b.size() > 1) {
      const auto [a1, a2] = halves_of(a);
      const auto [b1, b2] = halves_of(b);
      const std::vector<std::pair<Halves, Halves>> tries{{{a1, b1}, {a2, b2}},
                                                         {{a1, b2}, {a2, b1}}};
      std::optional<Halves> next;
      for (const auto& [x, y] : tries) {
        std::vector<Set> sets;
        for (const auto* each : {&x, &y}) {
          const bool both = !each->first.empty() && !each->second.empty();
          sets.push_back(both ? join(each->first, each->second) : Set{});
        }
        TRY_ASSIGN(const auto found, slowest(sets));
        if (!found) continue;
        next = *found == 0 ? x : y;
        break;
      }
      if (!next) break;
      a = std::move(next->first);
      b = std::move(next->second);
    }
    return join(a, b);
  }

  // Groups of the same size, in which others stand in for half of the suspects.
  [[nodiscard]] Result<void> follow() {
    const auto others = without(all_, shown_);
    const auto size = shown_.size();
    while (suspects_.size() > 1) {
      const auto [a, b] = halves_of(suspects_);
      const auto need_a = size - a.size();
      const auto need_b = size - b.size();
      if (others.size() < std::max(need_a, need_b)) return {};
      const auto fill = [&](const Set& part, std::size_t from, std::size_t count) {
        const auto begin = others.begin() + static_cast<std::ptrdiff_t>(from);
        return join(part, {begin, begin + static_cast<std::ptrdiff_t>(count)});
      };
      std::optional<std::size_t> slow;
      const bool at_once = others.size() >= need_a + need_b;
      const std::vector<Set> sets{fill(a, 0, need_a), fill(b, at_once ? need_a : 0, need_b)};
      if (at_once) {
        TRY_ASSIGN(const auto found, slowest(sets));
        slow = found;
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

  // Where too few others are left to stand in: the part without which all others are fine, and its
  // part …
  [[nodiscard]] Result<void> leave_out() {
    Set suspects = all_;
    std::size_t parts = 4;
    while (suspects.size() > 1 && parts <= 2 * suspects.size()) {
      std::vector<Set> guilty;
      std::size_t tried = 0;
      for (const auto& part : parts_of(suspects, parts)) {
        const auto rest = without(all_, part);
        if (rest.size() < 2) return {};
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
        parts *= 2;  // so few do not show it
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

  [[nodiscard]] Result<std::optional<Culprit>> confirm() {
    TRY_ASSIGN(const auto again, rounds_.measure_one("what is slow together, alone", shown_));
    const auto& gbps = again;
    if (!usual_.low(gbps)) {
      return shown_.size() < all_.size() ? jam(gbps) : std::optional<Culprit>{};
    }
    auto others = without(all_, shown_);
    if (control_) {
      TRY_ASSIGN(const auto rest, rounds_.measure_one("all but one", without(all_, suspects_)));
      control_ = rest;
      // What changes by itself from one time to the next is nobody's doing.
      const bool better = control_ && (1 - kLossOfGroups) * *control_ > gbps.value_or(0);
      if (!better || usual_.low(control_)) return std::optional<Culprit>{};
      return conclude(gbps);
    }
    if (others.size() >= shown_.size()) {
      others.resize(shown_.size());
      TRY_ASSIGN(const auto control, rounds_.measure_one("as many others", others));
      if (usual_.low(control)) return std::optional<Culprit>{};
      control_ = control;
    } else if (shown_.size() == all_.size()) {
      return std::optional<Culprit>{};  // nobody is left to compare with
    }
    return conclude(gbps);
  }

  [[nodiscard]] std::optional<Culprit> jam(const std::optional<double>& alone) const {
    return Culprit{.kind = Culprit::Kind::congestion,
                   .nodes = shown_,
                   .together = shown_.size(),
                   .gbps = alone.value_or(0),
                   .share = usual_.share(alone),
                   .evidence = {fmt::format("{} nodes are slow together while the others work; "
                                            "alone they reach {} GB/s",
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
    culprit.evidence.push_back(fmt::format(
        "all {} nodes together, then parts of them, then {} alone: {}", all_.size(),
        culprit.kind == Kind::node
            ? fmt::format("{} with {} others", nodes_.names[suspects_[0]], shown_.size() - 1)
            : fmt::format("{} nodes", shown_.size()),
        gbps ? fmt::format("{} GB/s, {:.0f}% of {} that healthy pairs reach", rate_text(*gbps),
                           kPercent * culprit.share, rate_text(usual_.median))
             : "did not finish"));
    if (control_) {
      culprit.evidence.push_back(fmt::format(
          "{}: {} GB/s", shown_.size() < all_.size() ? "as many others" : "all but this one",
          rate_text(*control_)));
    }
    culprit.ruled_out = {culprit.kind == Kind::link
                             ? "the two nodes: each reaches its bandwidth with another partner"
                             : "pairs: each of these nodes reaches its bandwidth with a partner"};
    culprit.ruled_out.emplace_back("congestion: it is slow while nobody else works");
    return culprit;
  }

  Rounds& rounds_;
  const Nodes& nodes_;
  Set all_;
  Scale usual_;
  Set shown_;     // the fewest that show it
  Set suspects_;  // those of them that it follows
  std::optional<double> control_;
};

// Faults that many nodes at once explain: it goes on being slow, whoever is left out.
bool is_common(const Search& search) {
  return std::ranges::any_of(search.culprits, [](const Culprit& culprit) {
    return culprit.kind != Culprit::Kind::node && culprit.kind != Culprit::Kind::link &&
           culprit.kind != Culprit::Kind::leaf;
  });
}

}  // namespace

bool falls_behind(const std::optional<double>& gbps, const Scale& of_pairs) {
  return !gbps || *gbps < (1 - kLossOfGroups) * of_pairs.median;
}

Result<void> measure_together(const Nodes& nodes, Rounds& rounds, Search& search) {
  for (int found = 0; found <= kMostFaults; ++found) {
    const auto out = left_out(search.culprits);
    Set rest;
    for (Node node = 0; node < nodes.count(); ++node) {
      if (std::ranges::find(out, node) == out.end()) rest.push_back(node);
    }
    if (rest.size() < 2 || (rest.size() == 2 && out.empty())) return {};
    TRY_ASSIGN(const auto gbps, rounds.together(rest));
    search.together = Together{.nodes = rest, .gbps = gbps};
    if (!falls_behind(gbps, *search.scale) || is_common(search) || rest.size() == 2) return {};
    auto culprit = Bisection(rounds, nodes, std::move(rest), gbps.value_or(0), *search.scale).run();
    if (!culprit) return tl::unexpected(culprit.error());
    if (!*culprit) return {};
    const auto& slow = **culprit;
    if (slow.kind == Culprit::Kind::link) {
      search.pairs.push_back({.pair = {slow.nodes[0], slow.nodes[1]},
                              .gbps = slow.hung ? std::nullopt : std::optional(slow.gbps)});
    }
    search.culprits.push_back(**std::move(culprit));
  }
  return {};
}

}  // namespace muster::bench::locate
