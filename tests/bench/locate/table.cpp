// SPDX-License-Identifier: Apache-2.0
// The table of docs/locate.md: what is found on models of clusters, who is accused falsely, and in
// how many rounds. `locate_table [RUNS [SEED]]`: healthy clusters of each size, a tenth of it per
// fault; their seeds begin with SEED.
// Ends with 1 where somebody innocent was accused.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include "tests/bench/locate/readiness.hpp"
#include "tests/bench/locate/runs.hpp"

namespace muster::bench::locate {
namespace {

using Kind = ModelFault::Kind;

struct Case {
  std::string_view name;
  Kind kind = Kind::slow_node;
  double factor = 1;
  std::size_t per_thousand = 0;  // faulty nodes; one at least. 0: exactly one fault
  bool faulty = true;
  bool beside_hca = false;  // of another node, which is at half of its rate
};

constexpr std::array kCases{
    Case{.name = "none", .faulty = false},
    Case{.name = "node -10%, 1% of nodes", .factor = 0.9, .per_thousand = 10},
    Case{.name = "node -10%, 10% of nodes", .factor = 0.9, .per_thousand = 100},
    Case{
        .name = "HCA -50%, 1% of nodes", .kind = Kind::slow_hca, .factor = 0.5, .per_thousand = 10},
    Case{
        .name = "GPU -30%, 1% of nodes", .kind = Kind::slow_gpu, .factor = 0.7, .per_thousand = 10},
    Case{.name = "hang, 1% of nodes", .kind = Kind::hang, .per_thousand = 10},
    Case{.name = "leaf switch -20%", .kind = Kind::slow_leaf, .factor = 0.8},
    Case{.name = "congestion -20%", .kind = Kind::congestion, .factor = 0.8},
    Case{.name = "link -40%", .kind = Kind::slow_link, .factor = 0.6},
    Case{.name = "node -30% among 16 or more", .kind = Kind::slow_large, .factor = 0.7},
    Case{.name = "one HCA of every node -40%", .kind = Kind::slow_rail, .factor = 0.6},
    Case{.name = "across leaf switches -40%", .kind = Kind::slow_level, .factor = 0.6},
    Case{.name = "leaf switch -40%, and an HCA",
         .kind = Kind::slow_leaf,
         .factor = 0.6,
         .beside_hca = true},
    Case{.name = "across leaf switches -40%, and an HCA",
         .kind = Kind::slow_level,
         .factor = 0.6,
         .beside_hca = true}};

ModelCluster with_first_fault(const Case& each, ModelCluster cluster) {
  if (!each.faulty) return cluster;
  if (each.kind == Kind::slow_leaf || each.kind == Kind::congestion) {
    const auto leaves = (cluster.nodes - 1) / cluster.nodes_per_leaf + 1;
    cluster.faults = {
        {.kind = each.kind, .first = cluster.seed % leaves, .second = 0, .factor = each.factor}};
    return cluster;
  }
  if (each.kind == Kind::slow_rail || each.kind == Kind::slow_level) {
    const auto device = cluster.seed % static_cast<std::size_t>(cluster.devices);
    const auto first = each.kind == Kind::slow_level ? 1 : device;
    cluster.faults = {{.kind = each.kind, .first = first, .second = 0, .factor = each.factor}};
    return cluster;
  }
  if (each.kind == Kind::slow_large) {
    cluster.faults = {{.kind = each.kind,
                       .first = cluster.seed % cluster.nodes,
                       .second = 16,
                       .factor = each.factor}};
    return cluster;
  }
  const auto count = std::max<std::size_t>(1, cluster.nodes * each.per_thousand / 1000);
  return with_faults(std::move(cluster), each.kind, count, each.factor);
}

ModelCluster cluster_for(const Case& each, ModelCluster cluster) {
  cluster = with_first_fault(each, std::move(cluster));
  if (each.beside_hca) {
    const auto node = cluster.seed * 7919 % cluster.nodes;
    cluster.faults.push_back(
        {.kind = Kind::slow_hca, .first = node, .second = cluster.seed % 8, .factor = 0.5});
  }
  return cluster;
}

std::size_t nodes_per_leaf(std::size_t nodes) {
  constexpr std::size_t kFew = 15;
  if (nodes <= kFew) return nodes == kFew ? 5 : 8;
  return nodes < 1024 ? 8 : 32;
}

bool has(const Search& search, Culprit::Kind kind, const ModelFault& fault) {
  return std::ranges::any_of(search.culprits, [&](const Culprit& culprit) {
    if (culprit.kind != kind) return false;
    if (kind == Culprit::Kind::leaf) return culprit.leaf == static_cast<int>(fault.first);
    // These accuse nobody.
    if (kind == Culprit::Kind::congestion || kind == Culprit::Kind::level) return true;
    if (kind == Culprit::Kind::rail) return culprit.devices[0] == static_cast<int>(fault.first);
    return std::ranges::count(culprit.nodes, fault.first) > 0 &&
           std::ranges::count(culprit.nodes, fault.second) > 0;
  });
}

bool found_all(const Search& search, const ModelCluster& cluster) {
  const auto named = accused(search);
  return std::ranges::all_of(cluster.faults, [&](const ModelFault& fault) {
    if (fault.kind == Kind::slow_leaf) return has(search, Culprit::Kind::leaf, fault);
    if (fault.kind == Kind::congestion) return has(search, Culprit::Kind::congestion, fault);
    if (fault.kind == Kind::slow_link) return has(search, Culprit::Kind::link, fault);
    if (fault.kind == Kind::slow_rail) return has(search, Culprit::Kind::rail, fault);
    if (fault.kind == Kind::slow_level) return has(search, Culprit::Kind::level, fault);
    return named.contains(fault.first);
  });
}

// A node, link or leaf switch that has no fault.
bool accuses_falsely(const Search& search, const ModelCluster& cluster) {
  const auto bad = guilty(cluster);
  const auto named = accused(search);
  if (!std::ranges::includes(bad, named)) return true;
  const auto faults = [&](Kind kind) {
    return static_cast<std::size_t>(std::ranges::count(cluster.faults, kind, &ModelFault::kind));
  };
  return culprits_of(search, Culprit::Kind::link).size() > faults(Kind::slow_link) ||
         culprits_of(search, Culprit::Kind::leaf).size() > faults(Kind::slow_leaf) ||
         culprits_of(search, Culprit::Kind::rail).size() > faults(Kind::slow_rail) ||
         culprits_of(search, Culprit::Kind::level).size() > faults(Kind::slow_level) ||
         !culprits_of(search, Culprit::Kind::group).empty();
}

struct Runs {
  int count = 1000;
  std::uint64_t first_seed = 1;
};

bool print_row(const Case& each, std::size_t nodes, double noise, const Runs& runs) {
  int found = 0;
  int falsely = 0;
  std::vector<int> rounds;
  std::uint64_t operations = 0;
  for (int run = 0; run < runs.count; ++run) {
    const auto cluster =
        cluster_for(each, {.nodes = nodes,
                           .nodes_per_leaf = nodes_per_leaf(nodes),
                           .noise = noise,
                           .seed = runs.first_seed + static_cast<std::uint64_t>(run)});
    const auto search = search_on(cluster, true, with_limit());
    found += found_all(search, cluster) ? 1 : 0;
    falsely += accuses_falsely(search, cluster) ? 1 : 0;
    rounds.push_back(search.rounds);
    operations += search.operations;
  }
  std::ranges::sort(rounds);
  fmt::print("| {} | {} | {:.0f}% | {} | {} | {} | {}, {} at most | {:.0f} |\n", each.name, nodes,
             100 * noise, runs.count,
             each.faulty ? fmt::format("{:.1f}%", 100.0 * found / runs.count) : "-", falsely,
             rounds[rounds.size() / 2], rounds.back(),
             static_cast<double>(operations) / runs.count);
  (void)std::fflush(stdout);
  return falsely == 0;
}

// False where somebody innocent was accused.
bool print_faults(const Runs& runs) {
  bool fair = true;
  fmt::print(
      "| fault | nodes | noise | runs | all found | runs with a false accusation | rounds "
      "| operations |\n|---|---|---|---|---|---|---|---|\n");
  for (const auto& each : kCases) {
    for (const std::size_t nodes : {8U, 15U, 64U, 1024U, 4096U}) {
      constexpr std::array kLarge{Kind::slow_leaf, Kind::congestion, Kind::slow_large,
                                  Kind::slow_level};
      const bool large = std::ranges::find(kLarge, each.kind) != kLarge.end();
      if (nodes == 8 && large) continue;
      if (nodes == 15 && each.kind == Kind::slow_large) continue;
      for (const double noise : {0.01, 0.03}) {
        const int share = (each.faulty ? 10 : 1) * (nodes > 1024 ? 10 : 1);
        const Runs own{.count = std::max(1, runs.count / share), .first_seed = runs.first_seed};
        fair = print_row(each, nodes, noise, own) && fair;
      }
    }
  }
  return fair;
}

double seconds_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// The model, and how long it took for its answers.
class Timed final : public Measurer {
 public:
  explicit Timed(const ModelCluster& cluster) : model_(cluster) {}

  [[nodiscard]] Result<std::vector<Answer>> measure(const std::vector<Group>& groups,
                                                    int repeats) override {
    const auto begin = std::clock();
    auto answers = model_.measure(groups, repeats);
    seconds_ += seconds_since(begin);
    return answers;
  }

  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  Model model_;
  double seconds_ = 0;
};

// One tournament of all of a large cluster's nodes.
void print_tournament() {
  const auto cluster = with_faults({.nodes = 4096}, Kind::slow_node, 40, 0.9);
  Timed model(cluster);
  const auto begin = std::clock();
  const auto search =
      locate(nodes_of(cluster, true), model, {.strategy = Strategy::tournament}).value_or(Search{});
  fmt::print(
      "\nA tournament of 4096 nodes, 40 of them 10% slow: {} found, {} rounds; of the processor "
      "{:.1f} s for the search, and {:.1f} s for the model.\n",
      found_all(search, cluster) ? "all" : "not all", search.rounds,
      seconds_since(begin) - model.seconds(), model.seconds());
}

// Launches of both procedures on the same faults.
void print_procedures() {
  fmt::print(
      "\n| faults among 1024 nodes | rounds of one launch | found | jobs of the Cluster "
      "Readiness Engine's procedure | found |\n|---|---|---|---|---|\n");
  for (const auto kind : {Kind::slow_hca, Kind::slow_link}) {
    for (const std::size_t count : {1U, 3U, 10U}) {
      const auto cluster = with_faults({.nodes = 1024, .noise = 0.01}, kind, count, 0.6);
      const auto ours = search_on(cluster, true, with_limit());
      Model model(cluster);
      const auto theirs = readiness_procedure(1024, model, {.inside_gbps = 215, .gbps = 175});
      const auto named = std::ranges::count_if(cluster.faults, [&](const ModelFault& fault) {
        return theirs && std::ranges::count(theirs->accused, fault.first) > 0;
      });
      const auto own = std::ranges::count_if(cluster.faults, [&](const ModelFault& fault) {
        return kind == Kind::slow_link ? has(ours, Culprit::Kind::link, fault)
                                       : accused(ours).contains(fault.first);
      });
      fmt::print("| {} {} | {} | {} | {} | {} |\n", count,
                 kind == Kind::slow_hca ? "slow HCAs" : "slow links", ours.rounds, own,
                 theirs ? theirs->runs : 0, named);
    }
  }
}

}  // namespace
}  // namespace muster::bench::locate

int main(int count, char** words) {
  namespace locate = muster::bench::locate;
  locate::Runs runs;
  if (count > 1) runs.count = std::max(1, std::atoi(words[1]));
  if (count > 2) runs.first_seed = std::strtoull(words[2], nullptr, 10);
  const bool fair = locate::print_faults(runs);
  locate::print_procedures();
  locate::print_tournament();
  return fair ? 0 : 1;
}
