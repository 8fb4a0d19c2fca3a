// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/figures.hpp"

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
#include "lib/profile/limits/pci.hpp"

namespace muster::bench::locate {
namespace {

constexpr double kBitsOfByte = 8;

// What the HCAs of a node carry together by the profile, in GB/s.
struct Ceiling {
  double gbps = 0;
  std::string of;    // "8 HCAs of 200 Gb/s"
  std::string pcie;  // what PCIe leaves of it, in words; empty where the profile does not tell
};

std::optional<Ceiling> ceiling_of(const Profile& profile) {
  constexpr double kEncoding = 128.0 / 130.0;  // of PCIe from its third generation on
  if (!profile.ib->present.count || !profile.ib->rate.expected) return {};
  const int count = *profile.ib->present.count;
  const double each = profile.ib->rate.expected->value / kGiga;
  Ceiling ceiling{.gbps = count * each / kBitsOfByte,
                  .of = fmt::format("{} HCAs of {:.0f} Gb/s", count, each),
                  .pcie = {}};
  if (profile.pci->link.hca.speed && profile.pci->link.hca.width) {
    const auto& [speed, width] = profile.pci->link.hca;
    const double bits = speed->value * *width * kEncoding;
    ceiling.pcie =
        fmt::format(", whose PCIe links carry {:.0f} GB/s", count * bits / kBitsOfByte / kGiga);
  }
  return ceiling;
}

// Those that make a job slow, the slowest first.
std::vector<const Culprit*> slow_ones(const Search& search, double usual) {
  std::vector<const Culprit*> slow;
  for (const auto& culprit : search.culprits) {
    const bool somebody =
        culprit.kind == Culprit::Kind::node || culprit.kind == Culprit::Kind::link ||
        culprit.kind == Culprit::Kind::leaf || culprit.kind == Culprit::Kind::group;
    if (somebody && culprit.gbps < usual) slow.push_back(&culprit);
  }
  std::ranges::sort(slow, {}, [](const Culprit* each) { return each->gbps; });
  return slow;
}

constexpr std::size_t kMostShownNodes = 32;

// A share of the median to a sign: "." at 95% and more.
char sign_of(const std::optional<double>& gbps, const Scale& scale) {
  if (!gbps) return 'X';
  const double share = scale.share(*gbps);
  if (share >= 0.95) return '.';
  if (share >= 0.85) return '+';
  return share >= 0.6 ? 'o' : '#';
}

}  // namespace

std::optional<Matrix> matrix_of(const Search& search, const Nodes& nodes) {
  if (!search.scale || search.pairs.empty()) return {};
  using Row = std::vector<std::optional<double>>;
  Matrix matrix{.title = "Bus bandwidth of each pair of nodes that was measured",
                .unit = "GB/s",
                .names = nodes.names,
                .cells = {},
                .usual = search.scale->median};
  if (nodes.count() > kMostDrawn) return matrix;
  matrix.cells.assign(nodes.count(), Row(nodes.count()));
  for (const auto& [pair, gbps] : search.pairs) {
    const auto [a, b] = pair;
    auto& cell = matrix.cells[a][b];
    cell = std::min(cell.value_or(gbps.value_or(0)), gbps.value_or(0));
    matrix.cells[b][a] = cell;
  }
  return matrix;
}

std::optional<Breakdown> breakdown_of(const Search& search, const Nodes& nodes, const Rule& rule,
                                      const Profile& profile) {
  if (!search.scale || search.pairs.empty()) return {};
  const double usual = search.scale->median;
  const auto slow = slow_ones(search, usual);
  if (std::ranges::any_of(slow, [](const Culprit* each) { return each->hung; })) return {};
  const auto ceiling = ceiling_of(profile);
  if (!ceiling && slow.empty()) return {};
  Breakdown breakdown{.title = {}, .unit = "GB/s", .parts = {}};
  auto& parts = breakdown.parts;
  // Without those that make it slow all others reach this.
  const double rest = search.together && search.together->gbps ? *search.together->gbps : usual;
  double reached = slow.empty() ? rest : std::min(rest, slow.front()->gbps);
  parts.push_back(
      {.what = "reached where all nodes work together", .value = reached, .reached = true});
  for (std::size_t i = 0; i < slow.size(); ++i) {
    const double next = i + 1 < slow.size() ? slow[i + 1]->gbps : std::max(rest, reached);
    parts.push_back({.what = name_of(*slow[i], nodes), .value = next - reached});
    reached = next;
  }
  if (falls_behind(rest, *search.scale)) {
    parts.push_back({.what = "healthy pairs reach it, and all nodes together do not",
                     .value = usual - reached});
    reached = usual;
  }
  if (rule.floor_gbps && *rule.floor_gbps > reached) {
    parts.push_back({.what = "less than is expected of healthy nodes, on all of them",
                     .value = *rule.floor_gbps - reached});
    reached = *rule.floor_gbps;
  }
  if (!ceiling || ceiling->gbps <= reached) {
    breakdown.title = fmt::format("Why not {} GB/s, which healthy pairs reach", rate_text(usual));
    return breakdown;
  }
  breakdown.title =
      fmt::format("Why not {} GB/s: {}{}", rate_text(ceiling->gbps), ceiling->of, ceiling->pcie);
  parts.push_back({.what = "protocol and algorithm: what healthy pairs leave, too",
                   .value = ceiling->gbps - reached});
  return breakdown;
}

std::string pairs_json(const Search& search, const Nodes& nodes) {
  auto pairs = nlohmann::ordered_json::array();
  for (const auto& [pair, gbps] : search.pairs) {
    nlohmann::ordered_json each{{"a", nodes.names[pair.first]}, {"b", nodes.names[pair.second]}};
    each["gbps"] = gbps ? nlohmann::ordered_json(*gbps) : nlohmann::ordered_json(nullptr);
    pairs.push_back(std::move(each));
  }
  nlohmann::ordered_json json{{"schema", "muster.pairs/1"}, {"unit", "GB/s"}};
  json["nodes"] = nodes.names;
  json["pairs"] = std::move(pairs);
  return json.dump(2).append("\n");
}

std::string pairs_csv(const Search& search, const Nodes& nodes) {
  std::string text = "a,b,gbps\n";
  for (const auto& [pair, gbps] : search.pairs) {
    text += fmt::format("{},{},{}\n", nodes.names[pair.first], nodes.names[pair.second],
                        gbps ? fmt::format("{:.3f}", *gbps) : "");
  }
  return text;
}

std::string heat_map(const Search& search, const Nodes& nodes) {
  const auto count = nodes.count();
  if (count > kMostShownNodes || !search.scale) return "";
  std::vector<std::string> squares(count, std::string(count, ' '));
  std::vector<double> rates(count * count, -1);
  for (const auto& [pair, gbps] : search.pairs) {
    const auto [a, b] = pair;
    auto& lowest = rates[a * count + b];
    if (lowest >= 0 && gbps.value_or(0) > lowest) continue;
    lowest = gbps.value_or(0);
    squares[a][b] = squares[b][a] = sign_of(gbps, *search.scale);
  }
  std::size_t width = 0;
  for (const auto& name : nodes.names) width = std::max(width, name.size());
  std::string text =
      "Pairs: . 95% of the median and more, + 85%, o 60%, # less, X did not finish\n";
  for (std::size_t i = 0; i < count; ++i) {
    text += fmt::format("{:<{}} ", nodes.names[i], width);
    for (const char square : squares[i]) text += fmt::format(" {}", square);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace muster::bench::locate
