// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace muster::bench::locate {
namespace {

using Kind = ModelFault::Kind;

void lower(double& rate, double factor) { rate = std::min(rate, factor); }

}  // namespace

Nodes nodes_of(const ModelCluster& cluster, bool with_topology) {
  Nodes nodes{.names = {}, .devices = cluster.devices, .leaves = {}, .leaf_names = {}, .pods = {}};
  for (std::size_t i = 0; i < cluster.nodes; ++i) {
    nodes.names.push_back(fmt::format("sim{}", i));
    if (!with_topology) continue;
    const auto leaf = i / cluster.nodes_per_leaf;
    nodes.leaves.push_back(static_cast<int>(leaf));
    if (leaf < nodes.leaf_names.size()) continue;
    nodes.leaf_names.push_back(fmt::format("leaf{}", leaf));
    nodes.pods.push_back(static_cast<int>(leaf / cluster.leaves_per_pod));
  }
  return nodes;
}

Model::Model(ModelCluster cluster)
    : cluster_(std::move(cluster)), nodes_(cluster_.nodes), random_(cluster_.seed) {
  const auto leaves = leaf(cluster_.nodes - 1) + 1;
  leaves_.assign(leaves, 1);
  crowded_leaves_.assign(leaves, 1);
  for (const auto& fault : cluster_.faults) set(fault);
}

// A fault of the node as a whole, or of one of its devices, for which all others wait.
void Model::slow_down(NodeState& node, const ModelFault& fault) const {
  lower(node.network, fault.factor);
  const bool gpu = fault.kind == Kind::slow_node || fault.kind == Kind::slow_gpu;
  if (gpu) lower(node.inside, fault.factor);
  const auto devices = static_cast<std::size_t>(cluster_.devices);
  if (node.devices.empty()) node.devices.assign(devices, 1);
  const auto index = fault.kind == Kind::slow_rail ? fault.first : fault.second;
  for (std::size_t i = 0; i < devices; ++i) {
    if (fault.kind == Kind::slow_node || i == index) lower(node.devices[i], fault.factor);
  }
}

void Model::set(const ModelFault& fault) {
  switch (fault.kind) {
    case Kind::slow_node:
    case Kind::slow_hca:
    case Kind::slow_gpu:
      return slow_down(nodes_[fault.first], fault);
    case Kind::slow_rail:
      for (auto& node : nodes_) slow_down(node, fault);
      return;
    case Kind::slow_large:
      nodes_[fault.first].large = fault.factor;
      nodes_[fault.first].enough = fault.second;
      return;
    case Kind::slow_leaf:
      return lower(leaves_[fault.first], fault.factor);
    case Kind::congestion:
      return lower(crowded_leaves_[fault.first], fault.factor);
    case Kind::slow_level:
      return lower(levels_.at(fault.first - 1), fault.factor);
    case Kind::hang:
      nodes_[fault.first].hangs = true;
      return;
    case Kind::slow_link:
    case Kind::hang_link:
      links_.push_back(fault);
  }
}

bool Model::hangs(const Group& group) const {
  const auto has = [&](Node node) { return std::ranges::count(group.nodes, node) > 0; };
  return std::ranges::any_of(group.nodes, [&](Node node) { return nodes_[node].hangs; }) ||
         std::ranges::any_of(links_, [&](const ModelFault& link) {
           return link.kind == Kind::hang_link && has(link.first) && has(link.second);
         });
}

// The part of their HCAs' rate that the switches between them let through.
double Model::path(const Group& group, bool crowded) const {
  const auto [low, high] = std::ranges::minmax(group.nodes);
  double part = 1;
  if (leaf(low) != leaf(high)) {
    part = cluster_.per_level * levels_[0];
    if (leaf(low) / cluster_.leaves_per_pod != leaf(high) / cluster_.leaves_per_pod) {
      part *= cluster_.per_level;
      lower(part, levels_[1]);
    }
    double worst = 1;
    for (const auto node : group.nodes) {
      lower(worst, leaves_[leaf(node)]);
      if (crowded) lower(worst, crowded_leaves_[leaf(node)]);
    }
    part *= worst;
  }
  double slowest = 1;
  for (const auto& link : links_) {
    const auto has = [&](Node node) { return std::ranges::count(group.nodes, node) > 0; };
    if (link.kind == Kind::slow_link && has(link.first) && has(link.second)) {
      lower(slowest, link.factor);
    }
  }
  return part * slowest;
}

double Model::rate_of(const Group& group, bool crowded) const {
  if (hangs(group)) return 0;
  const bool alone = group.nodes.size() == 1;
  if (alone && !group.without_nvlink) {
    return cluster_.inside_gbps * nodes_[group.nodes[0]].inside;
  }
  double part = 1;
  for (const auto node : group.nodes) {
    const auto& state = nodes_[node];
    const auto device = static_cast<std::size_t>(std::max(group.device, 0));
    lower(part, group.device == kAllDevices ? state.network
                : state.devices.empty()     ? 1
                                            : state.devices[device]);
    if (group.nodes.size() >= state.enough) lower(part, state.large);
  }
  const double all = cluster_.gbps / (group.device == kAllDevices ? 1 : cluster_.devices);
  return all * part * path(group, crowded);
}

// The Box-Muller method: the same numbers with every standard library.
double Model::normal() {
  if (std::exchange(has_spare_, false)) return spare_;
  constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
  const auto uniform = [&] { return (static_cast<double>(random_() >> 11U) + 0.5) * kUnit; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

Result<std::vector<Answer>> Model::measure(const std::vector<Group>& groups, int repeats) {
  level_ *= 1 + cluster_.drift * normal();
  std::vector<bool> works(cluster_.nodes);
  for (const auto& group : groups) {
    for (const auto node : group.nodes) works[node] = true;
  }
  const auto working = static_cast<std::size_t>(std::ranges::count(works, true));
  const bool crowded = 2 * working > cluster_.nodes;
  std::vector<Answer> answers(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double rate = level_ * rate_of(groups[i], crowded);
    answers[i].finished = rate > 0;
    if (rate <= 0) continue;
    answers[i].gbps.reserve(static_cast<std::size_t>(repeats));
    for (int k = 0; k < repeats; ++k) {
      answers[i].gbps.push_back(rate * std::max(0.05, 1 + cluster_.noise * normal()));
    }
  }
  return answers;
}

}  // namespace muster::bench::locate
