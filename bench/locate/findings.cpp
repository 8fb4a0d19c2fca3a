// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/hosts/hostlist.hpp"

namespace muster::bench::locate {
namespace {

using Kind = Culprit::Kind;

constexpr double kPercent = 100;

std::vector<std::string> names_of(const std::vector<Node>& which, const Nodes& nodes) {
  std::vector<std::string> names;
  for (const auto node : which) names.push_back(nodes.names[node]);
  return names;
}

std::string device_of(const Culprit& culprit, const Nodes& nodes) {
  switch (culprit.kind) {
    case Kind::node:
      return nodes.names[culprit.nodes[0]];
    case Kind::link:
      return fmt::format("{}", fmt::join(names_of(culprit.nodes, nodes), "-"));
    case Kind::leaf:
      return nodes.leaf_names[static_cast<std::size_t>(culprit.leaf)];
    case Kind::congestion:
    case Kind::everyone:
    case Kind::not_enough_data:
      break;
  }
  return "job";
}

std::string how(const Culprit& culprit) {
  if (culprit.hung) return "does not finish";
  return fmt::format("{} GB/s, {:.0f}% of what its equals reach",
                     rate_text(culprit.gbps),
                     kPercent * culprit.share);
}

std::string part_of(const Culprit& culprit) {
  const auto devices = fmt::format("{}", fmt::join(culprit.devices, ", "));
  switch (culprit.part) {
    case Part::hca:
      return fmt::format("HCA {}: ", devices);
    case Part::gpu:
      return fmt::format("GPU {}: ", devices);
    case Part::inside:
      return "the links between its GPUs: ";
    case Part::network:
      return culprit.devices.empty() ? "all of its HCAs: " : fmt::format("HCAs {}: ", devices);
    case Part::untold:
      break;
  }
  return culprit.devices.empty() ? "" : fmt::format("devices {}: ", devices);
}

std::string what(const Culprit& culprit, const Nodes& nodes) {
  switch (culprit.kind) {
    case Kind::node:
      return fmt::format("{}{}", part_of(culprit), how(culprit));
    case Kind::link:
      return fmt::format("the path between the two {}", culprit.hung ? how(culprit) : "is slow");
    case Kind::leaf:
      return fmt::format(
          "leaf switch of {}: {}", fold_hostlist(names_of(culprit.nodes, nodes)), how(culprit));
    case Kind::congestion:
      return culprit.leaf == kNoLeaf
                 ? "slow only while all nodes work"
                 : fmt::format("leaf switch {} is slow only while all nodes work",
                               nodes.leaf_names[static_cast<std::size_t>(culprit.leaf)]);
    case Kind::everyone:
      return fmt::format("no node stands out, and all reach {} GB/s", rate_text(culprit.gbps));
    case Kind::not_enough_data:
      break;
  }
  return "not enough data";
}

Outcome outcome_of(const Culprit& culprit, const Rule& rule) {
  if (culprit.kind == Kind::congestion) return Outcome::warn;
  if (culprit.kind == Kind::not_enough_data) return Outcome::unknown;
  const bool reaches = rule.floor_gbps && !culprit.hung && culprit.gbps >= *rule.floor_gbps;
  return reaches ? Outcome::warn : Outcome::fail;
}

Finding finding_of(const Culprit& culprit, const Nodes& nodes, const Rule& rule) {
  constexpr std::size_t kShown = 6;  // pieces of evidence; the rest is counted
  const auto shown = std::min(kShown, culprit.evidence.size());
  auto message =
      fmt::format("{}; {}",
                  what(culprit, nodes),
                  fmt::join(culprit.evidence.begin(),
                            culprit.evidence.begin() + static_cast<std::ptrdiff_t>(shown),
                            "; "));
  if (shown < culprit.evidence.size()) {
    message += fmt::format("; and {} more", culprit.evidence.size() - shown);
  }
  if (!culprit.ruled_out.empty()) {
    message += fmt::format("; ruled out: {}", fmt::join(culprit.ruled_out, ", "));
  }
  constexpr double kAlmostSure = 0.9999;
  if (culprit.probability > kAlmostSure) {
    message += "; probability above 99.99%";
  } else if (culprit.probability > 0) {
    message += fmt::format("; probability {:.2f}%", kPercent * culprit.probability);
  }
  Finding finding{.check = std::string(kLocateCheck),
                  .device = device_of(culprit, nodes),
                  .outcome = outcome_of(culprit, rule),
                  .message = std::move(message)};
  if (culprit.kind == Kind::not_enough_data) return finding;
  finding.remedy = culprit.kind == Kind::congestion ? Remedy::watch : Remedy::report_to_provider;
  if (!culprit.hung && culprit.gbps > 0) {
    finding.observed = culprit.gbps;
    finding.unit = "GB/s";
    if (rule.floor_gbps) finding.limit = *rule.floor_gbps;
  }
  return finding;
}

template <class Belongs>
std::vector<std::string> nodes_where(const Search& search,
                                     const Nodes& nodes,
                                     const Belongs& belongs) {
  std::set<Node> found;
  for (const auto& culprit : search.culprits) {
    if (belongs(culprit.kind)) found.insert(culprit.nodes.begin(), culprit.nodes.end());
  }
  return names_of({found.begin(), found.end()}, nodes);
}

}  // namespace

std::string name_of(const Culprit& culprit, const Nodes& nodes) {
  const auto device = device_of(culprit, nodes);
  if (culprit.kind == Kind::link) return fmt::format("the path {}", device);
  if (culprit.kind == Kind::leaf) return fmt::format("leaf switch {}", device);
  const auto part = part_of(culprit);
  return part.empty() ? device : fmt::format("{}: {}", device, part.substr(0, part.size() - 2));
}

std::vector<Finding> findings_of(const Search& search, const Nodes& nodes, const Rule& rule) {
  std::vector<Finding> findings;
  for (const auto& culprit : search.culprits) {
    findings.push_back(finding_of(culprit, nodes, rule));
  }
  if (!findings.empty() || !search.scale) return findings;
  const auto& scale = *search.scale;
  findings.push_back(
      {.check = std::string(kLocateCheck),
       .device = "job",
       .outcome = Outcome::pass,
       .message = fmt::format("no node stands out: {} rates around {} GB/s; a loss of more "
                              "than {:.1f}% would have been seen",
                              scale.count,
                              rate_text(scale.median),
                              kPercent * (1 - scale.limit / scale.median)),
       .observed = scale.median,
       .unit = "GB/s"});
  return findings;
}

std::vector<std::string> accused_of(const Search& search, const Nodes& nodes) {
  return nodes_where(search, nodes, [](Kind kind) { return kind == Kind::node; });
}

std::vector<std::string> excluded_of(const Search& search, const Nodes& nodes) {
  return nodes_where(
      search, nodes, [](Kind kind) { return kind == Kind::node || kind == Kind::leaf; });
}

}  // namespace muster::bench::locate
