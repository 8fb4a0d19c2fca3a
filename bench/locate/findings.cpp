// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bench/locate/locate.hpp"
#include "lib/base/units.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::bench::locate {
namespace {

using Kind = Culprit::Kind;

std::string folded_names(const Culprit& culprit, const Nodes& nodes) {
  return fold_hostlist(names_of(culprit.nodes, nodes));
}

std::string device_of(const Culprit& culprit, const Nodes& nodes) {
  switch (culprit.kind) {
    case Kind::node:
      return nodes.names[culprit.nodes[0]];
    case Kind::link:
      return fmt::format("{}", fmt::join(names_of(culprit.nodes, nodes), "-"));
    case Kind::leaf:
      return culprit.leaf == kNoLeaf ? folded_names(culprit, nodes)
                                     : nodes.leaf_names[static_cast<std::size_t>(culprit.leaf)];
    case Kind::rail:
      return fmt::format("device {}", culprit.devices[0]);
    case Kind::group:
    case Kind::level:
    case Kind::congestion:
    case Kind::everyone:
    case Kind::not_enough_data:
      break;
  }
  return "job";
}

std::string rate_of(const Culprit& culprit) {
  if (!culprit.loss.empty()) return culprit.loss;
  if (culprit.hung) return "does not finish";
  return fmt::format("{} GB/s, {:.0f}% of its peers", rate_text(culprit.gbps),
                     kPercent * culprit.share);
}

// The part of a node; empty if it is unknown.
std::string part_name(const Culprit& culprit) {
  const auto devices = fmt::format("{}", fmt::join(culprit.devices, ", "));
  switch (culprit.part) {
    case SlowPart::hca:
      return fmt::format("HCA {}", devices);
    case SlowPart::gpu:
      return fmt::format("GPU {}", devices);
    case SlowPart::inside:
      return "the links between its GPUs";
    case SlowPart::network:
      return culprit.devices.empty() ? "all of its HCAs" : fmt::format("HCAs {}", devices);
    case SlowPart::unknown:
      break;
  }
  return culprit.devices.empty() ? "" : fmt::format("devices {}", devices);
}

std::string node_summary(const Culprit& culprit) {
  if (culprit.together > 2) {
    return fmt::format("in an all-reduce of {} nodes and more: {}", culprit.together,
                       rate_of(culprit));
  }
  const auto part = part_name(culprit);
  return part.empty() ? rate_of(culprit) : fmt::format("{}: {}", part, rate_of(culprit));
}

std::string summary_of(const Culprit& culprit, const SearchResult& result, const Nodes& nodes,
                       const Limits& limits) {
  switch (culprit.kind) {
    case Kind::node:
      return node_summary(culprit);
    case Kind::rail:
      return fmt::format("on most nodes: {}", rate_of(culprit));
    case Kind::group:
      return fmt::format("{} are slow together, and no smaller part of them: {}",
                         folded_names(culprit, nodes), rate_of(culprit));
    case Kind::level:
      return rate_of(culprit);
    case Kind::link:
      return fmt::format("the path between the two {}",
                         culprit.hung ? rate_of(culprit) : "is slow");
    case Kind::leaf:
      return fmt::format("leaf switch of {}: {}", folded_names(culprit, nodes), rate_of(culprit));
    case Kind::congestion:
      return culprit.leaf == kNoLeaf
                 ? "slow only while all nodes work"
                 : fmt::format("leaf switch {} is slow only while all nodes work",
                               nodes.leaf_names[static_cast<std::size_t>(culprit.leaf)]);
    case Kind::everyone:
      if (culprit.hung) return "no pair of nodes finishes";
      return fmt::format("{}, and the median of all pairs is {} GB/s{}",
                         result.culprits.size() == 1 ? "no node stands out" : "all nodes are slow",
                         rate_text(culprit.gbps),
                         limits.pair ? fmt::format(", expected {}", rate_text(*limits.pair)) : "");
    case Kind::not_enough_data:
      break;
  }
  return "not enough data";
}

Outcome outcome_of(const Culprit& culprit, const SearchResult& result, const Nodes& nodes,
                   const Limits& limits) {
  if (culprit.kind == Kind::congestion) return Outcome::warn;
  if (culprit.kind == Kind::not_enough_data) return Outcome::unknown;
  if (culprit.kind == Kind::everyone || culprit.hung) return Outcome::fail;
  // Switches may carry less than their nodes by design.
  if (!limits.job) return culprit.kind == Kind::level ? Outcome::warn : Outcome::fail;
  return job_rate(culprit, result, nodes.devices) < *limits.job ? Outcome::fail : Outcome::warn;
}

// "; costs the job 53.8 GB/s: 131.5 GB/s with it, below its limit of 200.0"
std::string cost_text(const Culprit& culprit, const SearchResult& result, const Nodes& nodes,
                      const Limits& limits) {
  if (culprit.is_general() || culprit.hung) return {};
  const double cost = job_cost(culprit, result, nodes.devices);
  auto text = fmt::format("; costs the job {} GB/s", rate_text(std::max(0.0, cost)));
  if (!limits.job) return text;
  const double rate = job_rate(culprit, result, nodes.devices);
  return fmt::format("{}: {} GB/s with it, {} its limit of {}", text, rate_text(rate),
                     rate < *limits.job ? "below" : "which meets", rate_text(*limits.job));
}

// The probability first, since long messages are cut at their end.
std::string message_of(const Culprit& culprit, const SearchResult& result, const Nodes& nodes,
                       const Limits& limits) {
  constexpr std::size_t kShown = 6;
  constexpr double kAlmostSure = 0.9999;
  const auto& evidence = culprit.evidence;
  auto message = summary_of(culprit, result, nodes, limits);
  if (culprit.probability > kAlmostSure) {
    message += "; probability above 99.99%";
  } else if (culprit.probability > 0) {
    message += fmt::format("; probability {:.2f}%", kPercent * culprit.probability);
  }
  message += cost_text(culprit, result, nodes, limits);
  const auto shown = std::min(kShown, evidence.size());
  for (std::size_t i = 0; i < shown; ++i) message += fmt::format("; {}", evidence[i]);
  if (shown < evidence.size()) message += fmt::format("; and {} more", evidence.size() - shown);
  for (const auto& each : culprit.ruled_out) message += fmt::format("; not {}", each);
  return message;
}

Finding finding_of(const Culprit& culprit, const SearchResult& result, const Nodes& nodes,
                   const Limits& limits) {
  Finding finding{.check = std::string(kLocateCheck),
                  .device = device_of(culprit, nodes),
                  .outcome = outcome_of(culprit, result, nodes, limits),
                  .message = message_of(culprit, result, nodes, limits)};
  if (culprit.kind == Kind::not_enough_data) return finding;
  finding.remedy = culprit.kind == Kind::congestion ? Remedy::watch
                   : culprit.loss.empty()           ? Remedy::report_to_provider
                                                    : Remedy::restart_app;
  if (culprit.hung || culprit.gbps <= 0) return finding;
  const bool general = culprit.is_general();
  finding.observed = general ? culprit.gbps : job_rate(culprit, result, nodes.devices);
  finding.unit = "GB/s";
  if (const auto& limit = general ? limits.pair : limits.job) finding.limit = *limit;
  return finding;
}

}  // namespace

std::vector<std::string> names_of(const std::vector<Node>& which, const Nodes& nodes) {
  std::vector<std::string> names;
  for (const auto node : which) names.push_back(nodes.names[node]);
  return names;
}

std::string name_of(const Culprit& culprit, const Nodes& nodes) {
  const auto device = device_of(culprit, nodes);
  if (culprit.kind == Kind::link) return fmt::format("the path {}", device);
  if (culprit.kind == Kind::leaf) return fmt::format("leaf switch {}", device);
  const auto part = part_name(culprit);
  return part.empty() ? device : fmt::format("{}: {}", device, part);
}

std::vector<Finding> findings_of(const SearchResult& result, const Nodes& nodes,
                                 const Limits& limits) {
  std::vector<Finding> findings;
  for (const auto& culprit : result.culprits) {
    findings.push_back(finding_of(culprit, result, nodes, limits));
  }
  if (!findings.empty() || !result.scale) return findings;
  const auto& scale = *result.scale;
  findings.push_back({.check = std::string(kLocateCheck),
                      .device = "job",
                      .outcome = Outcome::pass,
                      .message = fmt::format("no node stands out: {} rates around {} GB/s; a loss "
                                             "of more than {:.1f}% would show",
                                             scale.count, rate_text(scale.median),
                                             kPercent * (1 - scale.limit / scale.median)),
                      .observed = scale.median,
                      .unit = "GB/s"});
  return findings;
}

std::vector<std::string> accused_of(const SearchResult& result, const Nodes& nodes,
                                    const Limits& limits) {
  std::vector<std::string> accused;
  for (const auto& culprit : result.culprits) {
    // Processes mostly end because they are killed.
    if (culprit.kind != Kind::node || !culprit.loss.empty()) continue;
    if (outcome_of(culprit, result, nodes, limits) != Outcome::fail) continue;
    const auto& name = nodes.names[culprit.nodes[0]];
    if (std::ranges::find(accused, name) == accused.end()) accused.push_back(name);
  }
  return accused;
}

std::vector<Node> excluded(const SearchResult& result, const Nodes& nodes, const Limits& limits) {
  std::vector<Culprit> failed;
  std::ranges::copy_if(result.culprits, std::back_inserter(failed), [&](const Culprit& culprit) {
    return outcome_of(culprit, result, nodes, limits) == Outcome::fail;
  });
  return left_out(failed);
}

std::optional<Finding> together_finding(const SearchResult& result, const Nodes& nodes,
                                        const Limits& limits) {
  if (!result.together) return {};
  const auto& [members, gbps, algorithm] = *result.together;
  const auto share = result.scale->share(gbps);
  const bool behind = falls_behind(gbps, *result.scale);
  const bool fails = !gbps || (limits.job && *gbps < *limits.job);
  // Large groups are somewhat slower than pairs. If they are much slower, only a limit can pass
  // them.
  constexpr double kMuch = 0.75;
  const bool undecided = !limits.job && gbps && result.culprits.empty() && share < kMuch;
  const auto out = names_of(left_out(result.culprits), nodes);
  auto message = out.empty() ? fmt::format("all {} nodes together ", members.size())
                             : fmt::format("without {} the other {} nodes together ",
                                           fold_hostlist(out), members.size());
  message += gbps ? fmt::format("reach {} GB/s", rate_text(*gbps)) : "do not finish";
  if (behind && gbps) {
    message += fmt::format(", {:.0f}% of what healthy pairs reach", kPercent * share);
  }
  if (gbps && fails) message += fmt::format("; below its limit of {}", rate_text(*limits.job));
  if (undecided) message += "; no limit shows whether that is enough (--min-busbw)";
  Finding finding{.check = std::string(kLocateCheck),
                  .device = "job",
                  .outcome = fails       ? Outcome::fail
                             : undecided ? Outcome::unknown
                             : behind    ? Outcome::warn
                                         : Outcome::pass,
                  .message = std::move(message),
                  .observed = gbps.value_or(0),
                  .unit = "GB/s"};
  if (limits.job) finding.limit = *limits.job;
  if (fails) finding.remedy = Remedy::report_to_provider;
  if (finding.outcome == Outcome::warn) finding.remedy = Remedy::watch;
  return finding;
}

}  // namespace muster::bench::locate
