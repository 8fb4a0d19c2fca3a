// SPDX-License-Identifier: Apache-2.0
#include "slurm/sweeps/sweep_plan.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "slurm/rules/rules.hpp"
#include "slurm/rules/sweep_kinds.hpp"

namespace muster::slurm {
namespace {

class SweepPlanner {
 public:
  explicit SweepPlanner(const SweepSituation& situation)
      : rules_(situation.rules), now_(situation.now), open_(situation.log.open.size()) {
    for (const auto& job : situation.log.open) taken_.insert(job.nodes.begin(), job.nodes.end());
    for (const auto& node : situation.nodes) {
      // Any suffix means that Slurm has other plans for the node.
      if (node.state != "idle") taken_.insert(node.name);
    }
    candidates_ = sweep_standings(situation);
    std::erase_if(candidates_, [&](const SweepStanding& each) {
      return taken_.contains(each.node) || is_paused(each);
    });
    std::ranges::stable_sort(candidates_, {}, [&](const SweepStanding& each) {
      const auto order = std::ranges::find(rules_.kinds, each.kind) - rules_.kinds.begin();
      return std::tuple(!is_urgent(each), each.tried.value_or(Time::min()), order);
    });
  }

  std::vector<SweepJob> plan() {
    std::vector<SweepJob> jobs;
    for (const auto& candidate : candidates_) {
      if (open_ + jobs.size() >= static_cast<std::size_t>(rules_.most_jobs)) break;
      if (taken_.contains(candidate.node)) continue;
      if (!is_urgent(candidate) && !is_due(candidate)) continue;
      if (auto job = job_for(candidate)) jobs.push_back(*std::move(job));
    }
    return jobs;
  }

 private:
  // A second verdict decides whether it is confirmed. More of them would change nothing.
  [[nodiscard]] static bool is_urgent(const SweepStanding& node) {
    return node.failures.size() == 1;
  }

  // The other half of `every` is left to find the node idle.
  [[nodiscard]] bool is_due(const SweepStanding& node) const {
    return !node.swept || now_ - *node.swept >= whole(rules_.every) / 2;
  }

  [[nodiscard]] bool is_paused(const SweepStanding& node) const {
    const auto longest = std::max(whole(rules_.every) / 2, kSweepPause);
    auto pause = kSweepPause;
    for (int i = 1; i < node.undecided && pause < longest; ++i) pause *= 2;
    return node.undecided > 0 && now_ - *node.tried < std::min(pause, longest);
  }

  [[nodiscard]] std::optional<SweepJob> job_for(const SweepStanding& leader) {
    const auto* const kind = find_sweep_kind(leader.kind);
    if (kind == nullptr) return std::nullopt;
    SweepJob job{.kind = leader.kind, .partition = leader.partition, .nodes = {leader.node}};
    const auto most =
        kind->takes_idle_nodes ? static_cast<std::size_t>(rules_.most_nodes) : kind->fewest_nodes;
    for (const auto& other : candidates_) {
      if (job.nodes.size() >= most) break;
      const bool fits = other.kind == leader.kind && other.partition == leader.partition &&
                        other.node != leader.node && other.trust != Trust::confirmed;
      if (fits && !taken_.contains(other.node)) job.nodes.push_back(other.node);
    }
    if (job.nodes.size() < kind->fewest_nodes) return std::nullopt;
    taken_.insert(job.nodes.begin(), job.nodes.end());
    return job;
  }

  const SweepRules& rules_;
  Time now_;
  std::size_t open_;
  std::set<std::string, std::less<>> taken_;  // nodes that are not idle or have a job
  std::vector<SweepStanding> candidates_;     // suspects first, then the longest untested
};

}  // namespace

std::vector<SweepJob> plan_sweep(const SweepSituation& situation) {
  return SweepPlanner(situation).plan();
}

}  // namespace muster::slurm
