// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/pair_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace muster::bench::locate {
namespace {

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
    text += fmt::format("{},{},{}\n",
                        nodes.names[pair.first],
                        nodes.names[pair.second],
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
