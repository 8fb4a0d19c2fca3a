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

// Somebody whose turn it is.
struct Wish {
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
    for (const auto& wish : wishes()) {
      if (open_ + jobs.size() >= static_cast<std::size_t>(rules_.most_jobs)) break;
      if (!candidates_[wish.node].free) continue;
      if (auto job = job_of(wish)) jobs.push_back(*std::move(job));
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

  [[nodiscard]] std::vector<Wish> wishes() const {
    std::vector<Wish> wishes;
    for (std::size_t order = 0; order < rules_.kinds.size(); ++order) {
      const auto* kind = find_sweep_kind(rules_.kinds[order]);
      for (std::size_t node = 0; kind != nullptr && node < candidates_.size(); ++node) {
        if (auto wish = wish_of(*kind, node)) {
          wish->order = order;
          wishes.push_back(*wish);
        }
      }
    }
    std::ranges::stable_sort(wishes, {}, [](const Wish& wish) {
      return std::tuple(!wish.suspect, wish.tried, wish.order);
    });
    return wishes;
  }

  [[nodiscard]] std::optional<Wish> wish_of(const SweepKind& kind, std::size_t node) const {
    const auto& [name, partition, trust, free] = candidates_[node];
    const auto* record = book_.record(kind.name, name);
    if (is_paused(record, rules_, situation_.now)) return std::nullopt;
    const bool suspect = book_.trust(kind.name, name) == Trust::suspect &&
                         book_.can_tell_more(kind.name, partition, *record);
    const bool due = is_due(record, rules_, situation_.now);
    if (!suspect && !due) return std::nullopt;
    return Wish{
        .kind = &kind, .node = node, .suspect = suspect, .due = due, .tried = tried(record)};
  }

  std::optional<SweepJob> job_of(const Wish& wish) {
    std::vector<std::size_t> members{wish.node};
    while (members.size() < wish.kind->nodes) {
      const auto partner = partner_of(wish, members);
      if (!partner) return std::nullopt;
      members.push_back(*partner);
    }
    SweepJob job{.kind = std::string(wish.kind->name),
                 .partition = candidates_[wish.node].partition,
                 .nodes = {}};
    for (const auto member : members) {
      candidates_[member].free = false;
      job.nodes.push_back(candidates_[member].name);
    }
    return job;
  }

  // With whom this node was longest ago, or never; of these who was tried longest ago.
  [[nodiscard]] std::optional<std::size_t> partner_of(
      const Wish& wish, const std::vector<std::size_t>& members) const {
    using Key = std::tuple<int, Time, Time, std::size_t>;
    std::optional<Key> best;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (std::ranges::count(members, i) > 0 || !may_join(wish, candidates_[i])) continue;
      const auto& name = candidates_[i].name;
      const Key key{rank(wish, candidates_[i]),
                    together(*wish.kind, name, members),
                    tried(book_.record(wish.kind->name, name)),
                    i};
      if (!best || key < *best) best = key;
    }
    if (!best) return std::nullopt;
    return std::get<std::size_t>(*best);
  }

  [[nodiscard]] bool may_join(const Wish& wish, const Candidate& other) const {
    const auto& leader = candidates_[wish.node];
    if (!other.free || other.partition != leader.partition) return false;
    if (other.trust == Trust::confirmed) return false;
    if (is_paused(book_.record(wish.kind->name, other.name), rules_, situation_.now)) return false;
    const bool both = leader.trust >= Trust::suspect && other.trust >= Trust::suspect;
    // A good one that has work now is worth waiting for.
    if (both && with_good_nodes_.contains(leader.partition)) return false;
    return wish.due || !has_failed_with(wish, other.name);
  }

  [[nodiscard]] bool has_failed_with(const Wish& wish, const std::string& other) const {
    const auto* record = book_.record(wish.kind->name, candidates_[wish.node].name);
    return record != nullptr &&
           std::ranges::any_of(record->failures, [&](const SweepFailure& failure) {
             return std::ranges::count(failure.others, other) > 0;
           });
  }

  // Suspects last; and where this node is one, those that are known to be good first.
  [[nodiscard]] int rank(const Wish& wish, const Candidate& other) const {
    if (other.trust >= Trust::suspect) return 2;
    const bool doubtful = candidates_[wish.node].trust >= Trust::suspect;
    return doubtful && other.trust != Trust::good ? 1 : 0;
  }

  [[nodiscard]] Time together(const SweepKind& kind,
                              const std::string& other,
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
    return make_error(
        fmt::format("slurm.sweep.partitions in muster.yaml names {}, which Slurm "
                    "does not have; it has {}",
                    printable(partition, 60),
                    printable(fmt::format("{}", fmt::join(known, ", ")))));
  }
  if (!rules.partitions.empty()) return rules.partitions;
  if (known.size() <= 1) return std::vector<std::string>(known.begin(), known.end());
  return make_error(fmt::format("slurm.sweep.partitions in muster.yaml must say which of {}",
                                printable(fmt::format("{}", fmt::join(known, ", ")))));
}

std::vector<SweepStanding> sweep_standings(const SweepSituation& situation) {
  const auto book = book_of(situation.runs, situation.rules);
  const auto longest = whole(situation.rules.every);
  std::vector<SweepStanding> standings;
  for (const auto& node : situation.nodes) {
    const auto partition = swept_partition(node, situation.rules.partitions);
    if (partition.empty()) continue;
    for (const auto& kind : situation.rules.kinds) {
      const auto* record = book.record(kind, node.name);
      auto& standing = standings.emplace_back();
      standing.node = node.name;
      standing.kind = kind;
      standing.partition = partition;
      standing.trust = book.trust(kind, node.name);
      if (record != nullptr) standing.swept = record->swept;
      standing.overdue = !standing.swept || situation.now - *standing.swept > longest;
      if (record != nullptr) standing.failures = record->failures;
    }
  }
  return standings;
}

}  // namespace muster::slurm
