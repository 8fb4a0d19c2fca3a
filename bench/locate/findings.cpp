// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

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
    default:
      return "job";
  }
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

std::string summary_of(const Culprit& culprit, const SearchResult& result) {
  const auto& nodes = result.nodes;
  auto rate = rate_of(culprit);
  switch (culprit.kind) {
    case Kind::node: {
      if (culprit.together > 2) {
        return fmt::format("in an all-reduce of {} nodes and more: {}", culprit.together, rate);
      }
      const auto part = part_name(culprit);
      return part.empty() ? rate : fmt::format("{}: {}", part, rate);
    }
    case Kind::rail:
      return fmt::format("on most nodes: {}", rate);
    case Kind::group:
      return fmt::format("{} are slow together, and no smaller part of them: {}",
                         folded_names(culprit, nodes), rate);
    case Kind::level:
      return rate;
    case Kind::link:
      return fmt::format("the path between the two {}", culprit.hung ? rate : "is slow");
    case Kind::leaf:
      return fmt::format("leaf switch of {}: {}", folded_names(culprit, nodes), rate);
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
                         result.limits.pair
                             ? fmt::format(", expected {} GB/s", rate_text(*result.limits.pair))
                             : "");
    case Kind::not_enough_data:
      break;
  }
  return "not enough data";
}

Outcome outcome_of(const Culprit& culprit, const SearchResult& result) {
  if (culprit.kind == Kind::congestion) return Outcome::warn;
  if (culprit.kind == Kind::not_enough_data) return Outcome::unknown;
  if (culprit.kind == Kind::everyone || culprit.hung) return Outcome::fail;
  // Switches may carry less than their nodes by design.
  if (!result.limits.job) return culprit.kind == Kind::level ? Outcome::warn : Outcome::fail;
  return job_rate(culprit, result) < *result.limits.job ? Outcome::fail : Outcome::warn;
}

// "; costs the job 53.8 GB/s: 131.5 GB/s with it, below its limit of 200.0"
std::string cost_text(const Culprit& culprit, const SearchResult& result) {
  if (culprit.is_general() || culprit.hung) return {};
  const double cost = job_cost(culprit, result);
  auto text = fmt::format("; costs the job {} GB/s", rate_text(std::max(0.0, cost)));
  if (!result.limits.job) return text;
  const double rate = job_rate(culprit, result);
  return fmt::format("{}: {} GB/s with it, {} its limit of {}", text, rate_text(rate),
                     rate < *result.limits.job ? "below" : "which meets",
                     rate_text(*result.limits.job));
}

// The probability first, since long messages are cut at their end.
std::string message_of(const Culprit& culprit, const SearchResult& result) {
  constexpr std::size_t kShown = 6;
  constexpr double kAlmostSure = 0.9999;
  const auto& evidence = culprit.evidence;
  auto message = summary_of(culprit, result);
  if (culprit.probability > kAlmostSure) {
    message += "; probability above 99.99%";
  } else if (culprit.probability > 0) {
    message += fmt::format("; probability {:.2f}%", kPercent * culprit.probability);
  }
  message += cost_text(culprit, result);
  const auto shown = std::min(kShown, evidence.size());
  for (std::size_t i = 0; i < shown; ++i) message += fmt::format("; {}", evidence[i]);
  if (shown < evidence.size()) message += fmt::format("; and {} more", evidence.size() - shown);
  for (const auto& each : culprit.ruled_out) message += fmt::format("; not {}", each);
  return message;
}

Finding finding_of(const Culprit& culprit, const SearchResult& result) {
  Finding finding{.check = std::string(kLocateCheck),
                  .device = device_of(culprit, result.nodes),
                  .outcome = outcome_of(culprit, result),
                  .message = message_of(culprit, result)};
  if (culprit.kind == Kind::not_enough_data) return finding;
  finding.remedy = culprit.kind == Kind::congestion ? Remedy::watch
                   : culprit.loss.empty()           ? Remedy::report_to_provider
                                                    : Remedy::restart_app;
  if (culprit.hung || culprit.gbps <= 0) return finding;
  const bool general = culprit.is_general();
  finding.observed = general ? culprit.gbps : job_rate(culprit, result);
  finding.unit = "GB/s";
  if (const auto& limit = general ? result.limits.pair : result.limits.job) finding.limit = *limit;
  return finding;
}

using Cells = std::vector<std::vector<std::optional<double>>>;

// The lowest rate of each pair, 0 if it did not finish; empty if it was not measured.
Cells lowest_rates(const SearchResult& result) {
  const auto count = result.nodes.count();
  Cells cells(count, Cells::value_type(count));
  for (const auto& [pair, gbps] : result.pairs) {
    auto& cell = cells[pair.first][pair.second];
    cell = std::min(cell.value_or(gbps.value_or(0)), gbps.value_or(0));
    cells[pair.second][pair.first] = cell;
  }
  return cells;
}

// "gpu-0017: HCA 3", "the path gpu-0003-gpu-0009", "leaf switch leaf4"
std::string name_of(const Culprit& culprit, const Nodes& nodes) {
  const auto device = device_of(culprit, nodes);
  if (culprit.kind == Kind::link) return fmt::format("the path {}", device);
  if (culprit.kind == Kind::leaf) return fmt::format("leaf switch {}", device);
  const auto part = part_name(culprit);
  return part.empty() ? device : fmt::format("{}: {}", device, part);
}

// The rate of all HCAs of a node together, by the profile.
struct HcaCeiling {
  double gbps = 0;
  std::string text;  // "8 HCAs of 200 Gb/s", and what their PCIe links carry
};

std::optional<HcaCeiling> ceiling_of(const Profile& profile) {
  constexpr double kBitsPerByte = 8;
  constexpr double kEncoding = 128.0 / 130.0;  // of PCIe from its third generation on
  const auto& [count, rate] = std::pair(profile.ib->present.count, profile.ib->rate.expected);
  if (!count || !rate) return {};
  const double each = rate->value / kGiga;
  HcaCeiling ceiling{.gbps = *count * each / kBitsPerByte,
                     .text = fmt::format("{} HCAs of {:.0f} Gb/s", *count, each)};
  if (const auto& [speed, width] = profile.pci->link.hca; speed && width) {
    const double bits = speed->value * *width * kEncoding;
    ceiling.text +=
        fmt::format(", whose PCIe links carry {:.0f} GB/s", *count * bits / kBitsPerByte / kGiga);
  }
  return ceiling;
}

// The rate of a job with each of the culprits that make it slow, the slowest first.
std::vector<std::pair<double, std::string>> slow_culprits(const SearchResult& result) {
  std::vector<std::pair<double, std::string>> slow;
  for (const auto& culprit : result.culprits) {
    if (!is_left_out(culprit) && culprit.kind != Kind::group) continue;
    const double gbps = job_rate(culprit, result);
    if (gbps < result.scale->median) slow.emplace_back(gbps, name_of(culprit, result.nodes));
  }
  std::ranges::sort(slow);
  return slow;
}

}  // namespace

std::vector<Finding> findings_of(const SearchResult& result) {
  std::vector<Finding> findings;
  for (const auto& culprit : result.culprits) findings.push_back(finding_of(culprit, result));
  if (!findings.empty() || !result.scale) return findings;
  const auto& scale = *result.scale;
  return {{.check = std::string(kLocateCheck),
           .device = "job",
           .outcome = Outcome::pass,
           .message = fmt::format(
               "no node stands out: {} rates around {} GB/s; a loss of more than "
               "{:.1f}% would show",
               scale.count, rate_text(scale.median), kPercent * (1 - scale.limit / scale.median)),
           .observed = scale.median,
           .unit = "GB/s"}};
}

std::vector<std::string> accused_of(const SearchResult& result) {
  std::vector<std::string> accused;
  for (const auto& culprit : result.culprits) {
    // Processes mostly end because they are killed.
    if (culprit.kind != Kind::node || !culprit.loss.empty()) continue;
    if (outcome_of(culprit, result) != Outcome::fail) continue;
    const auto& name = result.nodes.names[culprit.nodes[0]];
    if (std::ranges::count(accused, name) == 0) accused.push_back(name);
  }
  return accused;
}

std::vector<std::string> excluded(const SearchResult& result) {
  auto failed = result.culprits;
  std::erase_if(
      failed, [&](const Culprit& culprit) { return outcome_of(culprit, result) != Outcome::fail; });
  return names_of(left_out(failed), result.nodes);
}

std::optional<Finding> together_finding(const SearchResult& result) {
  if (!result.together) return {};
  // Large groups are somewhat slower than pairs. If they are much slower, only a limit can pass
  // them.
  constexpr double kMuch = 0.75;
  const auto& [members, gbps, algorithm] = *result.together;
  const auto& limit = result.limits.job;
  const auto share = result.scale->share(gbps);
  const bool behind = falls_behind(gbps, *result.scale);
  const bool fails = !gbps || (limit && *gbps < *limit);
  const bool undecided = !limit && gbps && result.culprits.empty() && share < kMuch;
  const auto out = names_of(left_out(result.culprits), result.nodes);
  auto message = out.empty() ? fmt::format("all {} nodes together ", members.size())
                             : fmt::format("without {} the other {} nodes together ",
                                           fold_hostlist(out), members.size());
  message += gbps ? fmt::format("reach {} GB/s", rate_text(*gbps)) : "do not finish";
  if (behind && gbps) {
    message += fmt::format(", {:.0f}% of what healthy pairs reach", kPercent * share);
  }
  if (gbps && fails) message += fmt::format("; below its limit of {}", rate_text(*limit));
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
  if (limit) finding.limit = *limit;
  if (fails) finding.remedy = Remedy::report_to_provider;
  if (finding.outcome == Outcome::warn) finding.remedy = Remedy::watch;
  return finding;
}

std::optional<Matrix> matrix_of(const SearchResult& result) {
  if (!result.scale || result.pairs.empty()) return {};
  Matrix matrix{.title = "Bus bandwidth of each pair of nodes that was measured",
                .unit = "GB/s",
                .names = result.nodes.names,
                .cells = {},
                .usual = result.scale->median,
                .check = std::string(kLocateCheck)};
  if (result.nodes.count() <= kMaxDrawnNames) matrix.cells = lowest_rates(result);
  return matrix;
}

std::optional<Breakdown> breakdown_of(const SearchResult& result, const Profile& profile) {
  // A run that does not finish reaches no rate.
  const bool hung = result.together && !result.together->gbps;
  if (!result.scale || result.pairs.empty() || none_finished(result.pairs) || hung) return {};
  const double usual = result.scale->median;
  const auto slow = slow_culprits(result);
  const auto ceiling = ceiling_of(profile);
  if ((!slow.empty() && slow.front().first <= 0) || (!ceiling && slow.empty())) return {};
  const double rest = result.together_gbps().value_or(usual);  // without the culprits
  double reached = slow.empty() ? rest : std::min(rest, slow.front().first);
  Breakdown breakdown{.title = {}, .unit = "GB/s", .parts = {}, .check = std::string(kLocateCheck)};
  auto& parts = breakdown.parts;
  parts.push_back({.what = "reached with all nodes running", .value = reached, .reached = true});
  const auto lose = [&](std::string what, double next) {
    parts.push_back({.what = std::move(what), .value = next - reached});
    reached = next;
  };
  for (std::size_t i = 0; i < slow.size(); ++i) {
    lose(slow[i].second, i + 1 < slow.size() ? slow[i + 1].first : std::max(rest, reached));
  }
  if (falls_behind(rest, *result.scale)) {
    lose("healthy pairs reach this, all nodes together do not", usual);
  }
  if (const auto& limit = result.limits.job; limit && *limit > reached) {
    lose("lost on every node alike", *limit);
  }
  if (!ceiling || ceiling->gbps <= reached) {
    breakdown.title = fmt::format("Why not {} GB/s, which healthy pairs reach", rate_text(usual));
    return breakdown;
  }
  breakdown.title = fmt::format("Why not {} GB/s: {}", rate_text(ceiling->gbps), ceiling->text);
  lose("protocol overhead (healthy pairs lose this too)", ceiling->gbps);
  return breakdown;
}

std::string pairs_json(const SearchResult& result) {
  const auto& names = result.nodes.names;
  auto pairs = nlohmann::ordered_json::array();
  for (const auto& [pair, gbps] : result.pairs) {
    pairs.push_back({{"a", names[pair.first]}, {"b", names[pair.second]}, {"gbps", nullptr}});
    if (gbps) pairs.back()["gbps"] = *gbps;
  }
  const nlohmann::ordered_json json{{"schema", "muster.pairs/1"},
                                    {"unit", "GB/s"},
                                    {"nodes", names},
                                    {"pairs", std::move(pairs)}};
  return json.dump(2).append("\n");
}

std::string pairs_csv(const SearchResult& result) {
  std::string text = "a,b,gbps\n";
  for (const auto& [pair, gbps] : result.pairs) {
    const auto& names = result.nodes.names;
    text += fmt::format("{},{},{}\n", names[pair.first], names[pair.second],
                        gbps ? fmt::format("{:.3f}", *gbps) : "");
  }
  return text;
}

std::string heat_map(const SearchResult& result) {
  constexpr std::size_t kMaxShownNodes = 32;
  const auto& names = result.nodes.names;
  const bool drawable = result.scale || none_finished(result.pairs);
  if (names.size() > kMaxShownNodes || !drawable) return "";
  const auto sign_of = [&](const std::optional<double>& gbps) {
    if (!gbps) return ' ';
    if (*gbps == 0) return 'X';
    const double share = result.scale->share(gbps);
    return share >= 0.95 ? '.' : share >= 0.85 ? '+' : share >= 0.6 ? 'o' : '#';
  };
  const auto cells = lowest_rates(result);
  const auto width = std::ranges::max(names, {}, &std::string::size).size();
  std::string text =
      "Pairs: . at least 95% of the median, + 85%, o 60%, # less, X did not finish\n";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += fmt::format("{:<{}} ", names[i], width);
    for (const auto& cell : cells[i]) text += fmt::format(" {}", sign_of(cell));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace muster::bench::locate
