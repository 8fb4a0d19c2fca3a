// SPDX-License-Identifier: Apache-2.0
// Prints what a search finds on simulated clusters, its false accusations, and its rounds.
// `locate_table [RUNS [SEED [ROWS]]]`: RUNS healthy clusters of each size, and a tenth of that for
// each fault. Their seeds begin with SEED. Prints only rows whose names begin with ROWS. The exit
// status is 1 after a false accusation.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/results/bandwidth.hpp"
#include "lib/profile/load.hpp"
#include "tests/bench/locate/search_runs.hpp"

namespace muster::bench::locate {
namespace {

using Kind = SimFault::Kind;

struct TableCase {
  std::string_view name;
  Kind kind = Kind::slow_node;
  double factor = 1;
  std::size_t per_thousand = 0;  // faulty nodes; one at least. 0: exactly one fault
  bool faulty = true;
  bool beside_hca = false;  // of another node, which is at half of its rate
  // Words of --sim for more faults: {a}, {b} and {c} are different nodes, {last} is the last one.
  // The slowest of them must be named first.
  std::string_view words{};
  double limit = kLimit;
};

constexpr std::array kCases{
    TableCase{.name = "none", .faulty = false},
    TableCase{.name = "node -10%, 1% of nodes", .factor = 0.9, .per_thousand = 10},
    TableCase{.name = "node -10%, 10% of nodes", .factor = 0.9, .per_thousand = 100},
    TableCase{
        .name = "HCA -50%, 1% of nodes", .kind = Kind::slow_hca, .factor = 0.5, .per_thousand = 10},
    TableCase{
        .name = "GPU -30%, 1% of nodes", .kind = Kind::slow_gpu, .factor = 0.7, .per_thousand = 10},
    TableCase{.name = "hang, 1% of nodes", .kind = Kind::hang_node, .per_thousand = 10},
    TableCase{.name = "leaf switch -20%", .kind = Kind::slow_leaf, .factor = 0.8},
    TableCase{.name = "congestion -20%", .kind = Kind::congestion, .factor = 0.8},
    TableCase{.name = "link -40%", .kind = Kind::slow_link, .factor = 0.6},
    TableCase{.name = "node -30% among 16 or more", .kind = Kind::slow_large, .factor = 0.7},
    TableCase{.name = "one HCA of every node -40%", .kind = Kind::slow_rail, .factor = 0.6},
    TableCase{.name = "across leaf switches -40%", .kind = Kind::slow_level, .factor = 0.6},
    TableCase{.name = "leaf switch -40%, and an HCA",
              .kind = Kind::slow_leaf,
              .factor = 0.6,
              .beside_hca = true},
    TableCase{.name = "across leaf switches -40%, and an HCA",
              .kind = Kind::slow_level,
              .factor = 0.6,
              .beside_hca = true},
    TableCase{.name = "none, no pair reaches the limit", .faulty = false, .limit = 200},
    TableCase{.name = "HCA -30%, no pair reaches the limit",
              .words = "fault=slow_hca:{a}:3:0.7",
              .limit = 200},
    TableCase{.name = "all nodes -30%, one -50%",
              .words = "rate=130.9GB/s,fault=slow_node:{a}:0.714"},
    TableCase{.name = "HCA -50% and node -20%",
              .words = "fault=slow_node:{a}:0.8,fault=slow_hca:{b}:1:0.5"},
    TableCase{
        .name = "node -20%, HCA -35%, GPU -50%",
        .words = "fault=slow_node:{a}:0.8,fault=slow_gpu:{b}:5:0.5,fault=slow_hca:{c}:7:0.65"},
    TableCase{.name = "the same, no pair reaches the limit",
              .words = "fault=slow_node:{a}:0.8,fault=slow_gpu:{b}:5:0.5,fault=slow_hca:{c}:7:0.65",
              .limit = 200},
    TableCase{.name = "first node -15%, last node -30%",
              .words = "fault=slow_node:0:0.85,fault=slow_hca:{last}:0:0.7"}};

// One node at 80% and an HCA at 60%, on 16 nodes of each of these; where racks are NVLink domains,
// also on more nodes than a rack has.
constexpr std::array kProfiles{"nd96asr_v4",      "nd96amsr_a100_v4",      "nd96isr_h100_v5",
                               "nd96isr_h200_v5", "nd96isr_mi300x_v5",     "nd96asr_mi200_v4",
                               "nd40rs_v2",       "nd128isr_ndr_gb200_v6", "nd128isr_gb300_v6",
                               "hgx_b200"};

SimCluster with_words(std::string_view words, const SimCluster& cluster) {
  const auto nodes = static_cast<std::uint64_t>(cluster.nodes);
  const auto a = cluster.seed * 7919 % nodes;
  const auto text =
      fmt::format(fmt::runtime(words), fmt::arg("a", a),
                  fmt::arg("b", (a + 1 + cluster.seed % (nodes - 2)) % nodes),
                  fmt::arg("c", (a + nodes - 1) % nodes), fmt::arg("last", nodes - 1));
  return parse_sim(text, cluster).value_or(SimCluster{.nodes = 0});
}

SimCluster cluster_for(const TableCase& each, SimCluster cluster) {
  if (!each.words.empty()) return with_words(each.words, cluster);
  const auto fault = [&](std::uint64_t first, std::uint64_t second = 0) {
    cluster.faults = {{each.kind, first, second, each.factor}};
  };
  const auto nodes = static_cast<std::uint64_t>(cluster.nodes);
  const auto leaves = (nodes - 1) / static_cast<std::uint64_t>(cluster.nodes_per_leaf) + 1;
  if (!each.faulty) return cluster;
  switch (each.kind) {
    case Kind::slow_leaf:
    case Kind::congestion:
      fault(cluster.seed % leaves);
      break;
    case Kind::slow_rail:
      fault(cluster.seed % static_cast<std::uint64_t>(cluster.gpus));
      break;
    case Kind::slow_level:
      fault(1);
      break;
    case Kind::slow_large:
      fault(cluster.seed % nodes, 16);
      break;
    // with_faults() chooses nodes for the other kinds.
    default:
      cluster =
          with_faults(std::move(cluster), each.kind,
                      std::max<std::uint64_t>(1, nodes * each.per_thousand / 1000), each.factor);
  }
  if (each.beside_hca) {
    cluster.faults.push_back({Kind::slow_hca, cluster.seed * 7919 % nodes, cluster.seed % 8, 0.5});
  }
  return cluster;
}

int nodes_per_leaf(int nodes) {
  constexpr int kFew = 15;
  if (nodes <= kFew) return nodes == kFew ? 5 : 8;
  return nodes < 1024 ? 8 : 32;
}

// Faults whose culprits are not nodes.
struct SharedFault {
  Kind fault;
  Culprit::Kind culprit;
};

constexpr std::array kShared{SharedFault{Kind::slow_leaf, Culprit::Kind::leaf},
                             SharedFault{Kind::congestion, Culprit::Kind::congestion},
                             SharedFault{Kind::slow_link, Culprit::Kind::link},
                             SharedFault{Kind::slow_rail, Culprit::Kind::rail},
                             SharedFault{Kind::slow_level, Culprit::Kind::level}};

bool is_it(const Culprit& culprit, const SimFault& fault) {
  const auto first = static_cast<int>(fault.first);
  if (culprit.kind == Culprit::Kind::leaf) return culprit.leaf == first;
  if (culprit.kind == Culprit::Kind::rail) return culprit.devices[0] == first;
  return culprit.kind != Culprit::Kind::link ||
         (std::ranges::count(culprit.nodes, fault.first) > 0 &&
          std::ranges::count(culprit.nodes, fault.second) > 0);
}

// Whether the nodes are named in the order of their faults' factors.
bool in_order(const SearchResult& search, const SimCluster& cluster) {
  double last = 0;
  for (const auto* culprit : culprits_of(search, Culprit::Kind::node)) {
    const auto fault = std::ranges::find(cluster.faults, culprit->nodes[0], &SimFault::first);
    if (fault == cluster.faults.end() || fault->factor < last) return false;
    last = fault->factor;
  }
  return true;
}

bool found_all(const SearchResult& search, const TableCase& each, const SimCluster& cluster) {
  if (!each.words.empty() && !in_order(search, cluster)) return false;
  const auto named = accused(search);
  return std::ranges::all_of(cluster.faults, [&](const SimFault& fault) {
    const auto* const shared = std::ranges::find(kShared, fault.kind, &SharedFault::fault);
    if (shared == kShared.end()) return named.contains(fault.first);
    return std::ranges::any_of(culprits_of(search, shared->culprit),
                               [&](const Culprit* culprit) { return is_it(*culprit, fault); });
  });
}

// A node, link or leaf switch that has no fault.
bool accuses_falsely(const SearchResult& search, const SimCluster& cluster) {
  if (!std::ranges::includes(guilty(cluster), accused(search))) return true;
  if (!culprits_of(search, Culprit::Kind::group).empty()) return true;
  return std::ranges::any_of(kShared, [&](const SharedFault& each) {
    const auto faults = std::ranges::count(cluster.faults, each.fault, &SimFault::kind);
    return each.fault != Kind::congestion &&
           std::cmp_greater(culprits_of(search, each.culprit).size(), faults);
  });
}

struct RunCount {
  int count = 1000;
  std::uint64_t first_seed = 1;
  std::string_view rows{};  // the beginning of the names of the rows to print
};

constexpr double kDefaultRate = 187.5;
constexpr double kRate = 187;  // GB/s of a healthy pair below one leaf switch

bool print_row(const TableCase& each, const SimCluster& healthy, const RunCount& runs) {
  if (!each.name.starts_with(runs.rows)) return true;
  int found = 0;
  int falsely = 0;
  std::vector<int> rounds;
  std::uint64_t operations = 0;
  for (int run = 0; run < runs.count; ++run) {
    auto seeded = healthy;
    seeded.seed = runs.first_seed + static_cast<std::uint64_t>(run);
    const auto cluster = cluster_for(each, std::move(seeded));
    const auto result = search_on(cluster, true, {.floor = each.limit});
    found += found_all(result, each, cluster) ? 1 : 0;
    falsely += accuses_falsely(result, cluster) ? 1 : 0;
    rounds.push_back(result.rounds);
    operations += result.operations;
  }
  std::ranges::sort(rounds);
  fmt::print("| {} | {} | {:.0f}% | {} | {} | {} | {}, {} at most | {:.0f} |\n", each.name,
             healthy.nodes, healthy.noise.value, runs.count,
             each.faulty ? fmt::format("{:.1f}%", 100.0 * found / runs.count) : "-", falsely,
             rounds[rounds.size() / 2], rounds.back(),
             static_cast<double>(operations) / runs.count);
  (void)std::fflush(stdout);
  return falsely == 0;
}

// False after a false accusation.
bool print_faults(const RunCount& runs) {
  bool fair = true;
  fmt::print(
      "| fault | nodes | noise | runs | all found | runs with a false accusation | rounds "
      "| operations |\n|---|---|---|---|---|---|---|---|\n");
  for (const auto& each : kCases) {
    for (const int nodes : {8, 15, 64, 1024, 4096}) {
      constexpr std::array kLarge{Kind::slow_leaf, Kind::congestion, Kind::slow_large,
                                  Kind::slow_level};
      const bool large = std::ranges::find(kLarge, each.kind) != kLarge.end();
      if (nodes == 8 && large) continue;
      if (nodes == 15 && each.kind == Kind::slow_large) continue;
      for (const double noise : {1.0, 3.0}) {
        const int share = (each.faulty ? 10 : 1) * (nodes > 1024 ? 10 : 1);
        const RunCount own{.count = std::max(1, runs.count / share),
                           .first_seed = runs.first_seed,
                           .rows = runs.rows};
        SimCluster healthy{.nodes = nodes, .nodes_per_leaf = nodes_per_leaf(nodes)};
        healthy.hca_rate.value *= kRate / kDefaultRate;
        healthy.noise.value = noise;
        fair = print_row(each, healthy, own) && fair;
      }
    }
  }
  return fair;
}

double limit_of(const Profile& profile) {
  double lowest = 0;
  for (const auto& limit : job_limits(profile, Collective::all_reduce)) {
    const double own = limit.fail_below.value_or(BytesPerSecond{}).value / 1e9;
    if (lowest == 0 || own < lowest) lowest = own;
  }
  return lowest;
}

bool print_profiles(const RunCount& runs) {
  bool fair = true;
  auto tenth = runs;
  tenth.count = std::max(1, runs.count / 10);
  for (const auto* const name : kProfiles) {
    const auto profile = load_profile({}, name);
    if (!profile) return false;
    auto healthy = sim_cluster_of(*profile);
    healthy.nodes_per_leaf = 8;
    healthy.noise.value = 1;
    const auto sick_name = fmt::format("{}: node -20%, HCA -40%", name);
    for (const int nodes : {16, 20, 30, 40}) {
      if (nodes > 16 && healthy.nodes_per_domain == 1) break;
      healthy.nodes = nodes;
      TableCase each{.name = name, .faulty = false, .limit = limit_of(*profile)};
      fair = print_row(each, healthy, tenth) && fair;
      each.name = sick_name;
      each.faulty = true;
      each.words = "fault=slow_node:{a}:0.8,fault=slow_hca:{b}:0:0.6";
      fair = print_row(each, healthy, tenth) && fair;
    }
  }
  return fair;
}

}  // namespace
}  // namespace muster::bench::locate

int main(int count, char** words) {
  namespace locate = muster::bench::locate;
  locate::RunCount runs;
  if (count > 1) runs.count = std::max(1, std::atoi(words[1]));
  if (count > 2) runs.first_seed = std::strtoull(words[2], nullptr, 10);
  if (count > 3) runs.rows = words[3];
  const bool fair = locate::print_faults(runs);
  return locate::print_profiles(runs) && fair ? 0 : 1;
}
