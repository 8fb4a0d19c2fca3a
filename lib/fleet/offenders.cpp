// SPDX-License-Identifier: Apache-2.0
#include "lib/fleet/offenders.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "lib/statistics/statistics.hpp"

namespace muster::fleet {
namespace {

// Finds the offenders among suspects whose incidents are not explained yet.
class OffenderSearch {
 public:
  OffenderSearch(const std::vector<Suspect>& suspects,
                 const std::vector<SuspectedIncident>& incidents, const OffenderRule& rule)
      : suspects_(suspects),
        incidents_(incidents),
        rule_(rule),
        of_suspect_(suspects.size()),
        explained_(incidents.size()) {
    struct Peers {
      double incidents = 0, exposure_h = 0, count = 0;
    };
    std::map<std::pair<SuspectKind, std::uint32_t>, Peers> peers;
    const auto peers_of = [&](const Suspect& each) -> Peers& {
      return peers[{each.kind, each.peers}];
    };
    for (const auto& suspect : suspects) {
      peers_of(suspect).exposure_h += suspect.exposure_h;
      peers_of(suspect).count += 1;
    }
    for (std::size_t i = 0; i < incidents.size(); ++i) {
      for (const auto at : incidents[i].suspects) {
        of_suspect_[at].push_back(i);
        peers_of(suspects[at]).incidents += 1;
      }
    }
    for (const auto& suspect : suspects) {
      const auto& [count, exposure_h, peer_count] = peers_of(suspect);
      peer_counts_.push_back(peer_count);
      expected_.push_back(exposure_h > 0 ? suspect.exposure_h * count / exposure_h : 0);
    }
  }

  // Explaining incidents only makes an offender less likely, so the next one is the candidate that
  // is still the likeliest after it was judged again.
  std::vector<Offender> run() {
    const auto is_less_likely = [this](const Offender& a, const Offender& b) {
      return is_likelier(b, a);
    };
    std::priority_queue<Offender, std::vector<Offender>, decltype(is_less_likely)> candidates(
        is_less_likely);
    for (std::size_t i = 0; i < suspects_.size(); ++i) {
      if (const auto offender = judge(i)) candidates.push(*offender);
    }
    std::vector<Offender> offenders;
    while (!candidates.empty()) {
      const auto best = candidates.top();
      candidates.pop();
      const auto again = judge(best.suspect);
      if (!again) continue;
      if (again->incidents < best.incidents) {
        candidates.push(*again);
        continue;
      }
      offenders.push_back(best);
      for (const auto incident : of_suspect_[best.suspect]) explained_[incident] = true;
    }
    return offenders;
  }

 private:
  [[nodiscard]] std::optional<Offender> judge(std::size_t at) const {
    const auto& own = of_suspect_[at];
    if (static_cast<std::int64_t>(own.size()) < rule_.fewest_incidents || expected_[at] <= 0) {
      return std::nullopt;
    }
    Offender offender{.suspect = at};
    std::set<std::size_t> boots;
    for (const auto incident : own) {
      if (explained_[incident]) continue;
      ++offender.incidents;
      boots.insert(incidents_[incident].boot);
    }
    offender.boots = static_cast<std::int64_t>(boots.size());
    if (offender.incidents < rule_.fewest_incidents || offender.boots < rule_.fewest_boots) {
      return std::nullopt;
    }
    offender.factor = static_cast<double>(offender.incidents) / expected_[at];
    offender.probability =
        share_of_rates_above(rule_.factor, offender.incidents, expected_[at], rule_.shape);
    if (offender.probability <= rule_.probability) return std::nullopt;
    const auto kind = suspects_[at].kind;
    const double by_chance =
        peer_counts_[at] * (1 - share_of_at_most(offender.incidents - 1, expected_[at]));
    const bool is_one_of_many = kind == SuspectKind::part || kind == SuspectKind::seat;
    if (is_one_of_many && by_chance > rule_.by_chance) return std::nullopt;
    return offender;
  }

  // Ranks a suspect by the likelihood ratio of its own rate and its peers' rate. A seat with the
  // incidents of two parts ranks above either part, and a part ranks above the node that has it.
  [[nodiscard]] bool is_likelier(const Offender& one, const Offender& other) const {
    const double gain = likelihood(one), than = likelihood(other);
    if (gain != than) return gain > than;
    const auto order = [&](const Offender& each) {
      return std::pair(suspects_[each.suspect].kind, each.suspect);
    };
    return order(one) < order(other);
  }

  [[nodiscard]] double likelihood(const Offender& each) const {
    const auto count = static_cast<double>(each.incidents);
    return count * std::log(each.factor) - count + expected_[each.suspect];
  }

  const std::vector<Suspect>& suspects_;
  const std::vector<SuspectedIncident>& incidents_;
  const OffenderRule& rule_;
  std::vector<std::vector<std::size_t>> of_suspect_;  // indices of each suspect's incidents
  std::vector<double> expected_;                      // expected number of incidents
  std::vector<double> peer_counts_;
  std::vector<bool> explained_;  // by incident
};

}  // namespace

std::vector<Offender> find_offenders(const std::vector<Suspect>& suspects,
                                     const std::vector<SuspectedIncident>& incidents,
                                     const OffenderRule& rule) {
  return OffenderSearch(suspects, incidents, rule).run();
}

}  // namespace muster::fleet
