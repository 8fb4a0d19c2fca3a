// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "bench/locate/locate.hpp"
#include "lib/base/units.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::bench::locate {
namespace {

std::string device_of(const Culprit& culprit, const Nodes& nodes) {
  switch (culprit.kind) {
    case Culprit::Kind::node:
      return nodes.names[culprit.nodes[0]];
    case Culprit::Kind::link:
      return fmt::format("{}", fmt::join(names_of(culprit.nodes, nodes), "-"));
    case Culprit::Kind::leaf:
      return culprit.leaf == kNoLeaf ? fold_hostlist(names_of(culprit.nodes, nodes))
                                     : nodes.leaf_names[static_cast<std::size_t>(culprit.leaf)];
    case Culprit::Kind::rail:
      return fmt::format("device {}", culprit.devices[0]);
    case Culprit::Kind::group:
    case Culprit::Kind::level:
    case Culprit::Kind::congestion:
    case Culprit::Kind::everyone:
    case Culprit::Kind::not_enough_data:
      break;
  }
  return "job";
}

std::string how(const Culprit& culprit) {
  if (!culprit.loss.empty()) return culprit.loss;
  if (culprit.hung) return "does not finish";
  return fmt::format("{} GB/s, {:.0f}% of what its equals reach", rate_text(culprit.gbps),
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
    case Culprit::Kind::node:
      if (culprit.together > 2) {
        return fmt::format("in an all-reduce of {} nodes and more: {}", culprit.together,
                           how(culprit));
      }
      return fmt::format("{}{}", part_of(culprit), how(culprit));
    case Culprit::Kind::rail:
      return fmt::format("on most nodes: {}", how(culprit));
    case Culprit::Kind::group:
      return fmt::format("{} are slow together, and no smaller part of them: {}",
                         fold_hostlist(names_of(culprit.nodes, nodes)), how(culprit));
    case Culprit::Kind::level:
      return how(culprit);
    case Culprit::Kind::link:
      return fmt::format("the path between the two {}", culprit.hung ? how(culprit) : "is slow");
    case Culprit::Kind::leaf:
      return fmt::format("leaf switch of {}: {}", fold_hostlist(names_of(culprit.nodes, nodes)),
                         how(culprit));
    case Culprit::Kind::congestion:
      return culprit.leaf == kNoLeaf
                 ? "slow only while all nodes work"
                 : fmt::format("leaf switch {} is slow only while all nodes work",
                               nodes.leaf_names[static_cast<std::size_t>(culprit.leaf)]);
    case Culprit::Kind::everyone:
      return culprit.hung
                 ? std::string("no pair of nodes finishes")
                 : fmt::format("no node stands out, and the median of all pairs is {} GB/s",
                               rate_text(culprit.gbps));
    case Culprit::Kind::not_enough_data:
      break;
  }
  return "not enough data";
}

std::optional<double> floor_for(const Culprit& culprit, const Nodes& nodes, const Rule& rule) {
  return culprit.of_device ? rule_of_device(rule, nodes.devices).floor_gbps : rule.floor_gbps;
}

Outcome outcome_of(const Culprit& culprit, const Nodes& nodes, const Rule& rule) {
  if (culprit.kind == Culprit::Kind::congestion) return Outcome::warn;
  if (culprit.kind == Culprit::Kind::not_enough_data) return Outcome::unknown;
  const auto floor = floor_for(culprit, nodes, rule);
  const bool reaches = floor && !culprit.hung && culprit.gbps >= *floor;
  // Switches that carry less than what hangs from them may be meant to.
  if (culprit.kind == Culprit::Kind::level && !floor) return Outcome::warn;
  return reaches ? Outcome::warn : Outcome::fail;
}

Finding finding_of(const Culprit& culprit, const Nodes& nodes, const Rule& rule) {
  constexpr std::size_t kShown = 6;  // pieces of evidence; the rest is counted
  const auto shown = std::min(kShown, culprit.evidence.size());
  auto message = what(culprit, nodes);
  // First of all: long messages are cut at their end.
  constexpr double kAlmostSure = 0.9999;
  if (culprit.probability > kAlmostSure) {
    message += "; probability above 99.99%";
  } else if (culprit.probability > 0) {
    message += fmt::format("; probability {:.2f}%", kPercent * culprit.probability);
  }
  for (std::size_t i = 0; i < shown; ++i) message += fmt::format("; {}", culprit.evidence[i]);
  if (shown < culprit.evidence.size()) {
    message += fmt::format("; and {} more", culprit.evidence.size() - shown);
  }
  if (!culprit.ruled_out.empty()) {
    message += fmt::format("; ruled out: {}", fmt::join(culprit.ruled_out, ", "));
  }
  Finding finding{.check = std::string(kLocateCheck),
                  .device = device_of(culprit, nodes),
                  .outcome = outcome_of(culprit, nodes, rule),
                  .message = std::move(message)};
  if (culprit.kind == Culprit::Kind::not_enough_data) return finding;
  finding.remedy = culprit.kind == Culprit::Kind::congestion ? Remedy::watch
                   : culprit.loss.empty()                    ? Remedy::report_to_provider
                                                             : Remedy::restart_app;
  if (!culprit.hung && culprit.gbps > 0) {
    finding.observed = culprit.gbps;
    finding.unit = "GB/s";
    if (const auto floor = floor_for(culprit, nodes, rule)) finding.limit = *floor;
  }
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
  if (culprit.kind == Culprit::Kind::link) return fmt::format("the path {}", device);
  if (culprit.kind == Culprit::Kind::leaf) return fmt::format("leaf switch {}", device);
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
                              scale.count, rate_text(scale.median),
                              kPercent * (1 - scale.limit / scale.median)),
       .observed = scale.median,
       .unit = "GB/s"});
  return findings;
}

std::vector<std::string> accused_of(const Search& search, const Nodes& nodes, const Rule& rule) {
  std::set<Node> accused;
  for (const auto& culprit : search.culprits) {
    if (culprit.kind != Culprit::Kind::node || outcome_of(culprit, nodes, rule) != Outcome::fail)
      continue;
    if (!culprit.loss.empty()) continue;  // most processes that end so are killed
    accused.insert(culprit.nodes.begin(), culprit.nodes.end());
  }
  return names_of({accused.begin(), accused.end()}, nodes);
}

std::vector<Node> left_out(const std::vector<Culprit>& culprits) {
  std::set<Node> out;
  for (const auto& culprit : culprits) {
    if (culprit.kind == Culprit::Kind::node || culprit.kind == Culprit::Kind::leaf) {
      out.insert(culprit.nodes.begin(), culprit.nodes.end());
    }
  }
  for (const auto& culprit : culprits) {
    if (culprit.kind != Culprit::Kind::link) continue;
    const auto is_out = [&](Node node) { return out.contains(node); };
    if (std::ranges::none_of(culprit.nodes, is_out)) out.insert(culprit.nodes.front());
  }
  return {out.begin(), out.end()};
}

std::vector<Node> excluded(const Search& search, const Nodes& nodes, const Rule& rule) {
  std::vector<Culprit> failed;
  std::ranges::copy_if(search.culprits, std::back_inserter(failed), [&](const Culprit& culprit) {
    return outcome_of(culprit, nodes, rule) == Outcome::fail;
  });
  return left_out(failed);
}

std::optional<Finding> together_finding(const Search& search, const Nodes& nodes,
                                        const Rule& rule) {
  if (!search.together) return {};
  const auto& [members, gbps] = *search.together;
  const auto out = names_of(left_out(search.culprits), nodes);
  auto message = out.empty() ? fmt::format("all {} nodes together ", members.size())
                             : fmt::format("without {} the other {} nodes together ",
                                           fold_hostlist(out), members.size());
  message += gbps ? fmt::format("reach {} GB/s", rate_text(*gbps)) : "do not finish";
  const bool behind = falls_behind(gbps, *search.scale);
  if (behind && gbps) {
    message +=
        fmt::format(", {:.0f}% of what healthy pairs reach", kPercent * search.scale->share(*gbps));
  }
  const bool fails = !gbps || (rule.floor_gbps && *gbps < *rule.floor_gbps);
  // Larger groups may be somewhat slower than pairs. Where they are slower than this, only a limit
  // can call them healthy.
  constexpr double kMuch = 0.75;
  const bool unjudged = !rule.floor_gbps && gbps && behind && search.culprits.empty() &&
                        search.scale->share(*gbps) < kMuch;
  if (unjudged) message += "; no limit tells whether that is enough (--min-busbw)";
  Finding finding{.check = std::string(kLocateCheck),
                  .device = "job",
                  .outcome = fails      ? Outcome::fail
                             : unjudged ? Outcome::unknown
                             : behind   ? Outcome::warn
                                        : Outcome::pass,
                  .message = std::move(message),
                  .observed = gbps.value_or(0),
                  .unit = "GB/s"};
  if (rule.floor_gbps) finding.limit = *rule.floor_gbps;
  if (fails) finding.remedy = Remedy::report_to_provider;
  if (finding.outcome == Outcome::warn) finding.remedy = Remedy::watch;
  return finding;
}

}  // namespace muster::bench::locate
