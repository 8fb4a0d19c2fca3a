// SPDX-License-Identifier: Apache-2.0
#include "accept/sim_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "accept/sim_node.hpp"
#include "bench/locate/findings.hpp"
#include "bench/locate/locate.hpp"
#include "bench/locate/simulation.hpp"
#include "lib/base/mixing.hpp"
#include "lib/base/units.hpp"
#include "lib/profile/job_limit.hpp"
#include "lib/report/finding.hpp"

namespace muster::accept::sim {
namespace {

namespace locate = bench::locate;

constexpr std::int64_t kBytes = 16L << 30U;  // of an all-reduce
constexpr std::int64_t kElements = kBytes / 4;

std::string_view algorithm_of(const FleetWords& words) {
  return words.cluster.tree ? "tree" : "ring";
}

// The limit for the algorithm of the cluster; null if there is none.
const JobLimit* limit_of(const FleetWords& words, std::size_t nodes) {
  const auto algorithm = algorithm_of(words);
  const auto* limit =
      limit_of_job(words.profile.bench->job_all_reduce,
                   {.nodes = static_cast<int>(nodes), .algorithm = algorithm}, true);
  return limit != nullptr && fits_algorithm(*limit, algorithm) ? limit : nullptr;
}

locate::Floor floor_of(const FleetWords& words, std::size_t nodes) {
  const auto* limit = limit_of(words, nodes);
  return limit == nullptr ? std::nullopt : locate::Floor(limit->fail_below->value / kGiga);
}

Finding bandwidth_finding(double gbps, const JobLimit* limit) {
  auto finding = make_finding("bench.job_all_reduce", "job",
                              limit == nullptr ? Outcome::unknown : Outcome::pass,
                              fmt::format("all_reduce reaches {:.1f} GB/s", gbps));
  finding.observed = gbps;
  finding.unit = "GB/s";
  if (limit == nullptr) return finding;
  const bool fails = gbps * kGiga < limit->fail_below->value;
  const bool warns = limit->warn_below && gbps * kGiga < limit->warn_below->value;
  finding.limit = limit->fail_below->value / kGiga;
  if (!fails && !warns) return finding;
  const double bound = (fails ? limit->fail_below : limit->warn_below)->value / kGiga;
  finding.outcome = fails ? Outcome::fail : Outcome::warn;
  finding.limit = bound;
  finding.message += fmt::format("; {} below {:.1f}", fails ? "fails" : "warns", bound);
  finding.remedy = fails ? Remedy::report_to_provider : Remedy::watch;
  return finding;
}

}  // namespace

StepAnswer SimGroups::answer(const std::vector<std::size_t>& nodes, Stage stage,
                             std::int64_t before, std::int64_t at, double seconds) const {
  StepAnswer answer{.host = order_->nodes[nodes.front()].name,
                    .muster = order_->muster,
                    .at = at,
                    .seconds = seconds,
                    .profile = words_->profile.name};
  const auto seed = mixed(words_->cluster.seed) ^ mixed(static_cast<std::uint64_t>(stage) << 32U |
                                                        static_cast<std::uint64_t>(before));
  auto report = stage == Stage::fabric ? search(nodes, seed) : all_reduce(nodes, seed);
  for (const auto node : nodes) report.nodes.push_back(order_->nodes[node].name);
  report.muster = order_->muster;
  std::vector<std::string> checks;
  for (const auto& finding : report.findings) {
    if (std::ranges::count(checks, finding.check) == 0) checks.push_back(finding.check);
  }
  finish_report(report, words_->profile.name, at, seconds, checks);
  answer.reports = {std::move(report)};
  return answer;
}

// Does the same as `muster-bench locate --backend sim`, on a part of the cluster.
Report SimGroups::search(const std::vector<std::size_t>& nodes, std::uint64_t seed) const {
  auto cluster = words_->cluster;
  cluster.seed = seed;
  locate::Nodes searched{.names = {}, .devices = cluster.gpus, .leaves = {}, .leaf_names = {}};
  std::vector<int> leaves;
  for (const auto node : nodes) {
    searched.names.push_back(order_->nodes[node].name);
    const int leaf = static_cast<int>(node) / cluster.nodes_per_leaf;
    if (leaves.empty() || leaves.back() != leaf) {
      leaves.push_back(leaf);
      searched.leaf_names.push_back(fmt::format("leaf{}", leaf));
      searched.pods.push_back(leaf / cluster.leaves_per_pod);
    }
    searched.leaves.push_back(static_cast<int>(leaves.size()) - 1);
  }
  locate::Simulation simulation(cluster, nodes);
  const auto job_limit = [&](std::string_view /*algorithm*/) {
    return floor_of(*words_, nodes.size());
  };
  const auto found =
      locate::locate(searched, simulation, {.floor = floor_of(*words_, 2), .job_limit = job_limit});
  Report report{.context = "manual", .benchmark = "locate"};
  if (!found) {
    report.findings.push_back(
        make_finding(locate::kLocateCheck, "job", Outcome::unknown, found.error().message));
    return report;
  }
  report.findings = locate::findings_of(*found);
  std::ranges::move(wrong_data(nodes), std::back_inserter(report.findings));
  report.accused = locate::accused_of(*found);
  if (auto together = locate::together_finding(*found)) {
    report.findings.push_back(*std::move(together));
  }
  if (auto matrix = locate::matrix_of(*found)) report.matrices.push_back(*std::move(matrix));
  return report;
}

// Returns a finding for each rank that receives a wrong element.
std::vector<Finding> SimGroups::wrong_data(const std::vector<std::size_t>& nodes) const {
  std::vector<Finding> findings;
  for (const auto& fault : words_->cluster.faults) {
    const auto gpus = static_cast<std::uint64_t>(words_->cluster.gpus);
    const auto node = fault.first / gpus;
    const bool received = fault.kind == bench::SimFault::Kind::wrong &&
                          std::cmp_less(fault.second, kElements) &&
                          std::ranges::find(nodes, node) != nodes.end();
    if (!received) continue;
    findings.push_back(make_finding(
        "bench.data", fmt::format("{}/gpu{}", order_->nodes[node].name, fault.first % gpus),
        Outcome::fail, fmt::format("element {} of an all_reduce is wrong", fault.second),
        Remedy::report_to_provider));
  }
  return findings;
}

Report SimGroups::all_reduce(const std::vector<std::size_t>& nodes, std::uint64_t seed) const {
  Report report{.context = "manual", .benchmark = "all_reduce"};
  const bench::SimGroup group{.nodes = nodes};
  if (const auto hang = model_.hang_of(group)) {
    const auto node = static_cast<std::size_t>(hang->rank / words_->cluster.gpus);
    report.findings.push_back(make_finding(
        "bench.completion", order_->nodes[node].name, Outcome::fail,
        "did not complete an operation within its deadline", Remedy::report_to_provider));
    return report;
  }
  const auto deviation = words_->cluster.run_noise.value / kPercent;
  const double rate = model_.bandwidth(group, bench::Collective::all_reduce, {}) *
                      (1 + deviation * normal_at(seed)) / kGiga;
  const auto ranks = static_cast<std::int64_t>(nodes.size()) * words_->cluster.gpus;
  report.findings = {make_finding("bench.completion", "job", Outcome::pass, "all ranks completed"),
                     bandwidth_finding(rate, limit_of(*words_, nodes.size()))};
  auto wrong = wrong_data(nodes);
  const auto wrong_elements = std::ssize(wrong);
  if (wrong.empty()) {
    wrong = {make_finding("bench.data", "job", Outcome::pass, "all elements are correct")};
  }
  std::ranges::move(wrong, std::back_inserter(report.findings));
  report.measurements.push_back({.quantity = "busbw",
                                 .value = rate,
                                 .unit = "GB/s",
                                 .conditions = {.collective = "all_reduce",
                                                .type = "f32",
                                                .reduction = "sum",
                                                .placement = "out_of_place",
                                                .size_bytes = kBytes,
                                                .ranks = ranks,
                                                .nodes = static_cast<std::int64_t>(nodes.size()),
                                                .backend = "nccl",
                                                .library = "NCCL 2.28.3",
                                                .algorithm = std::string(algorithm_of(*words_)),
                                                .iterations = 20},
                                 .wrong_elements = wrong_elements});
  return report;
}

}  // namespace muster::accept::sim
