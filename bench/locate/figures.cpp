// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/locate/findings.hpp"
#include "bench/locate/locate.hpp"
#include "lib/base/units.hpp"
#include "lib/profile/limits/ib.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::bench::locate {
namespace {

using Cells = std::vector<std::vector<std::optional<double>>>;

// The lowest rate of each pair, 0 if it did not finish; empty if it was not measured.
Cells lowest_rates(const SearchResult& result, const Nodes& nodes) {
  Cells cells(nodes.count(), Cells::value_type(nodes.count()));
  for (const auto& [pair, gbps] : result.pairs) {
    auto& cell = cells[pair.first][pair.second];
    cell = std::min(cell.value_or(gbps.value_or(0)), gbps.value_or(0));
    cells[pair.second][pair.first] = cell;
  }
  return cells;
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

// A culprit that makes a job slow, and the rate of a job with it.
struct SlowCulprit {
  std::string name;
  double gbps = 0;
};

// The slowest first.
std::vector<SlowCulprit> slow_culprits(const SearchResult& result, const Nodes& nodes) {
  std::vector<SlowCulprit> slow;
  for (const auto& culprit : result.culprits) {
    if (!is_left_out(culprit) && culprit.kind != Culprit::Kind::group) continue;
    const double gbps = job_rate(culprit, result, nodes.devices);
    if (gbps < result.scale->median) slow.push_back({name_of(culprit, nodes), gbps});
  }
  std::ranges::sort(slow, {}, &SlowCulprit::gbps);
  return slow;
}

}  // namespace

std::optional<Matrix> matrix_of(const SearchResult& result, const Nodes& nodes) {
  if (!result.scale || result.pairs.empty()) return {};
  Matrix matrix{.title = "Bus bandwidth of each pair of nodes that was measured",
                .unit = "GB/s",
                .names = nodes.names,
                .cells = {},
                .usual = result.scale->median,
                .check = std::string(kLocateCheck)};
  if (nodes.count() <= kMaxDrawnNames) matrix.cells = lowest_rates(result, nodes);
  return matrix;
}

std::optional<Breakdown> breakdown_of(const SearchResult& result, const Nodes& nodes,
                                      const Limits& limits, const Profile& profile) {
  if (!result.scale || result.pairs.empty()) return {};
  const double usual = result.scale->median;
  const auto slow = slow_culprits(result, nodes);
  const auto ceiling = ceiling_of(profile);
  if ((!slow.empty() && slow.front().gbps <= 0) || (!ceiling && slow.empty())) return {};
  // The rate without the culprits.
  const double rest = result.together && result.together->gbps ? *result.together->gbps : usual;
  double reached = slow.empty() ? rest : std::min(rest, slow.front().gbps);
  Breakdown breakdown{.title = {}, .unit = "GB/s", .parts = {}, .check = std::string(kLocateCheck)};
  auto& parts = breakdown.parts;
  parts.push_back({.what = "reached with all nodes running", .value = reached, .reached = true});
  const auto lose = [&](std::string what, double next) {
    parts.push_back({.what = std::move(what), .value = next - reached});
    reached = next;
  };
  for (std::size_t i = 0; i < slow.size(); ++i) {
    lose(slow[i].name, i + 1 < slow.size() ? slow[i + 1].gbps : std::max(rest, reached));
  }
  if (falls_behind(rest, *result.scale)) {
    lose("healthy pairs reach this, all nodes together do not", usual);
  }
  if (limits.job && *limits.job > reached) lose("lost on every node alike", *limits.job);
  if (!ceiling || ceiling->gbps <= reached) {
    breakdown.title = fmt::format("Why not {} GB/s, which healthy pairs reach", rate_text(usual));
    return breakdown;
  }
  breakdown.title = fmt::format("Why not {} GB/s: {}", rate_text(ceiling->gbps), ceiling->text);
  lose("protocol overhead (healthy pairs lose this too)", ceiling->gbps);
  return breakdown;
}

std::string pairs_json(const SearchResult& result, const Nodes& nodes) {
  auto pairs = nlohmann::ordered_json::array();
  for (const auto& [pair, gbps] : result.pairs) {
    nlohmann::ordered_json each{{"a", nodes.names[pair.first]}, {"b", nodes.names[pair.second]}};
    each["gbps"] = gbps ? nlohmann::ordered_json(*gbps) : nlohmann::ordered_json(nullptr);
    pairs.push_back(std::move(each));
  }
  const nlohmann::ordered_json json{{"schema", "muster.pairs/1"},
                                    {"unit", "GB/s"},
                                    {"nodes", nodes.names},
                                    {"pairs", std::move(pairs)}};
  return json.dump(2).append("\n");
}

std::string pairs_csv(const SearchResult& result, const Nodes& nodes) {
  std::string text = "a,b,gbps\n";
  for (const auto& [pair, gbps] : result.pairs) {
    text += fmt::format("{},{},{}\n", nodes.names[pair.first], nodes.names[pair.second],
                        gbps ? fmt::format("{:.3f}", *gbps) : "");
  }
  return text;
}

std::string heat_map(const SearchResult& result, const Nodes& nodes) {
  constexpr std::size_t kMaxShownNodes = 32;
  if (nodes.count() > kMaxShownNodes || !result.scale) return "";
  const auto sign_of = [&](const std::optional<double>& gbps) {
    if (!gbps) return ' ';
    if (*gbps == 0) return 'X';
    const double share = result.scale->share(gbps);
    return share >= 0.95 ? '.' : share >= 0.85 ? '+' : share >= 0.6 ? 'o' : '#';
  };
  const auto cells = lowest_rates(result, nodes);
  const auto width = std::ranges::max(nodes.names, {}, &std::string::size).size();
  std::string text =
      "Pairs: . at least 95% of the median, + 85%, o 60%, # less, X did not finish\n";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += fmt::format("{:<{}} ", nodes.names[i], width);
    for (const auto& cell : cells[i]) text += fmt::format(" {}", sign_of(cell));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace muster::bench::locate
