// SPDX-License-Identifier: Apache-2.0
#include "slurm/sweeps/sweep_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/rules/rules.hpp"
#include "slurm/rules/sweep_kinds.hpp"

namespace muster::slurm {
namespace {

using std::chrono::seconds;

// Half of the time is left to find the node idle.
bool is_due(const SweepRecord* record, const SweepRules& rules, Time now) {
  if (record == nullptr || !record->swept) return true;
  return now - *record->swept >= whole(rules.every) / 2;
}

seconds pause_after(int undecided, const SweepRules& rules) {
  const auto longest = std::max(whole(rules.every) / 2, kSweepPause);
  auto pause = kSweepPause;
  for (int run = 1; run < undecided && pause < longest; ++run) pause *= 2;
  return std::min(pause, longest);
}

bool is_paused(const SweepRecord* record, const SweepRules& rules, Time now) {
  return record != nullptr && record->nothing &&
         now - *record->nothing < pause_after(record->undecided, rules);
}

Time tried(const SweepRecord* record) {
  return record == nullptr ? Time::min() : record->tried.value_or(Time::min());
}

// A node that may be taken now.
struct Candidate {
  std::string name;
  std::string partition;
  Trust trust = Trust::untested;  // of all kinds
  bool free = true;
};

// A node that should be swept in a kind.
struct Proposal {
  const SweepKind* kind = nullptr;
  std::size_t node = 0;
  bool suspect = false;  // and one more run can say more
  bool due = false;
  Time tried{};
  std::size_t order = 0;  // of the kinds
};

class Planner {
 public:
  explicit Planner(const SweepSituation& situation)
      : situation_(situation),
        rules_(situation.rules),
        book_(book_of(situation.runs, situation.rules)) {
    std::set<std::string, std::less<>> busy;
    for (const auto& run : situation.runs) {
      if (run.outcome != SweepOutcome::open) continue;
      busy.insert(run.nodes.begin(), run.nodes.end());
      ++open_;
    }
    for (const auto& node : situation.nodes) consider(node, busy.contains(node.name));
  }

  std::vector<SweepJob> plan() {
    std::vector<SweepJob> jobs;
    for (const auto& proposal : proposals()) {
      if (open_ + jobs.size() >= static_cast<std::size_t>(rules_.most_jobs)) break;
      if (!candidates_[proposal.node].free) continue;
      if (auto job = job_of(proposal)) jobs.push_back(*std::move(job));
    }
    return jobs;
  }

 private:
  void consider(const NodeState& node, bool is_busy) {
    auto partition = swept_partition(node, rules_.partitions);
    if (partition.empty() || standing_of(node) != Standing::in_service) return;
    const auto trust = book_.trust(node.name);
    if (trust < Trust::suspect) with_good_nodes_.insert(partition);
    // Anything behind the word means that Slurm has other plans for the node.
    if (is_busy || node.state != "idle") return;
    candidates_.push_back({.name = node.name, .partition = std::move(partition), .trust = trust});
  }

  [[nodiscard]] std::vector<Proposal> proposals() const {
    std::vector<Proposal> proposals;
    for (std::size_t order = 0; order < rules_.kinds.size(); ++order) {
      const auto* kind = find_sweep_kind(rules_.kinds[order]);
      for (std::size_t node = 0; kind != nullptr && node < candidates_.size(); ++node) {
        if (auto proposal = proposal_of(*kind, node)) {
          proposal->order = order;
          proposals.push_back(*proposal);
        }
      }
    }
    std::ranges::stable_sort(proposals, {}, [](const Proposal& proposal) {
      return std::tuple(!proposal.suspect, proposal.tried, proposal.order);
    });
    return proposals;
  }

  [[nodiscard]] std::optional<Proposal> proposal_of(const SweepKind& kind, std::size_t node) const {
    const auto& [name, partition, trust, free] = candidates_[node];
    const auto* record = book_.record(kind.name, name);
    if (is_paused(record, rules_, situation_.now)) return std::nullopt;
    const bool suspect = book_.trust(kind.name, name) == Trust::suspect &&
                         book_.can_tell_more(kind.name, partition, *record);
    const bool due = is_due(record, rules_, situation_.now);
    if (!suspect && !due) return std::nullopt;
    return Proposal{
        .kind = &kind, .node = node, .suspect = suspect, .due = due, .tried = tried(record)};
  }

  std::optional<SweepJob> job_of(const Proposal& proposal) {
    std::vector<std::size_t> members{proposal.node};
    const auto least = proposal.kind->nodes;
    const auto most = proposal.kind->several ? static_cast<std::size_t>(rules_.most_nodes) : least;
    while (members.size() < most) {
      const auto partner = partner_of(proposal, members);
      if (!partner) break;
      members.push_back(*partner);
    }
    if (members.size() < least) return std::nullopt;
    SweepJob job{.kind = std::string(proposal.kind->name),
                 .partition = candidates_[proposal.node].partition,
                 .nodes = {}};
    for (const auto member : members) {
      candidates_[member].free = false;
      job.nodes.push_back(candidates_[member].name);
    }
    return job;
  }

  // With whom this node was longest ago, or never; of these who was tried longest ago.
  [[nodiscard]] std::optional<std::size_t> partner_of(
      const Proposal& proposal, const std::vector<std::size_t>& members) const {
    using Key = std::tuple<int, Time, Time, std::size_t>;
    std::optional<Key> best;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (std::ranges::count(members, i) > 0 || !may_join(proposal, candidates_[i])) continue;
      const auto& name = candidates_[i].name;
      const Key key{rank(proposal, candidates_[i]), together(*proposal.kind, name, members),
                    tried(book_.record(proposal.kind->name, name)), i};
      if (!best || key < *best) best = key;
    }
    if (!best) return std::nullopt;
    return std::get<std::size_t>(*best);
  }

  [[nodiscard]] bool may_join(const Proposal& proposal, const Candidate& other) const {
    const auto& leader = candidates_[proposal.node];
    if (!other.free || other.partition != leader.partition) return false;
    if (other.trust == Trust::confirmed) return false;
    if (is_paused(book_.record(proposal.kind->name, other.name), rules_, situation_.now))
      return false;
    const bool both = leader.trust >= Trust::suspect && other.trust >= Trust::suspect;
    // A good one that has work now is worth waiting for.
    if (both && with_good_nodes_.contains(leader.partition)) return false;
    return proposal.due || !has_failed_with(proposal, other.name);
  }

  [[nodiscard]] bool has_failed_with(const Proposal& proposal, const std::string& other) const {
    const auto* record = book_.record(proposal.kind->name, candidates_[proposal.node].name);
    return record != nullptr &&
           std::ranges::any_of(record->failures, [&](const SweepFailure& failure) {
             return std::ranges::count(failure.others, other) > 0;
           });
  }

  // Suspects last; and where this node is one, those that are known to be good first.
  [[nodiscard]] int rank(const Proposal& proposal, const Candidate& other) const {
    if (other.trust >= Trust::suspect) return 2;
    const bool doubtful = candidates_[proposal.node].trust >= Trust::suspect;
    return doubtful && other.trust != Trust::good ? 1 : 0;
  }

  [[nodiscard]] Time together(const SweepKind& kind, const std::string& other,
                              const std::vector<std::size_t>& members) const {
    auto last = Time::min();
    const auto* record = book_.record(kind.name, other);
    if (record == nullptr) return last;
    for (const auto member : members) {
      const auto met = record->partners.find(candidates_[member].name);
      if (met != record->partners.end()) last = std::max(last, met->second);
    }
    return last;
  }

  const SweepSituation& situation_;
  const SweepRules& rules_;
  SweepBook book_;
  std::vector<Candidate> candidates_;
  std::set<std::string, std::less<>> with_good_nodes_;  // partitions; idle or not
  std::size_t open_ = 0;
};

}  // namespace

bool counts(const SweepRun& run, const SweepRules& rules) {
  return std::ranges::count(rules.kinds, run.kind) > 0;
}

SweepBook book_of(const std::vector<SweepRun>& runs, const SweepRules& rules) {
  SweepBook book({}, rules.partners);
  for (const auto& run : runs) {
    if (counts(run, rules)) book.add(run);
  }
  return book;
}

std::vector<SweepJob> plan_sweep(const SweepSituation& situation) {
  return Planner(situation).plan();
}

std::string swept_partition(const NodeState& node, const std::vector<std::string>& partitions) {
  for (const auto& partition : partitions) {
    if (std::ranges::count(node.partitions, partition) > 0) return partition;
  }
  return "";
}

Result<std::vector<std::string>> swept_partitions(const std::vector<NodeState>& nodes,
                                                  const SweepRules& rules) {
  std::set<std::string> known;
  for (const auto& node : nodes) known.insert(node.partitions.begin(), node.partitions.end());
  for (const auto& partition : rules.partitions) {
    if (known.contains(partition)) continue;
    return make_error(fmt::format(
        "slurm.sweep.partitions in muster.yaml names {}, which Slurm "
        "does not have; it has {}",
        printable(partition, 60), printable(fmt::format("{}", fmt::join(known, ", ")))));
  }
  if (!rules.partitions.empty()) return rules.partitions;
  if (known.size() <= 1) return std::vector<std::string>(known.begin(), known.end());
  return make_error(fmt::format("slurm.sweep.partitions in muster.yaml must say which of {}",
                                printable(fmt::format("{}", fmt::join(known, ", ")))));
}

}  // namespace muster::slurm
