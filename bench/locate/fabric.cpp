// SPDX-License-Identifier: Apache-2.0
// The strategy of switches: pairs below one leaf switch, pairs that cross leaf switches, and pairs
// that cross the switches above those, class after class.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "bench/locate/explain.hpp"
#include "bench/locate/locate.hpp"
#include "bench/locate/retry.hpp"
#include "bench/results/statistics.hpp"

namespace muster::bench::locate {
namespace {

// So much less than the class below reaches is a fault, or switches that carry less than their
// leaves.
constexpr double kLoss = 0.1;
constexpr double kPercent = 100;

struct Class {
  std::string_view title;  // "what …"
  std::vector<Pair> pairs;
  double median = 0;
};

std::vector<Class> classes_of(const Nodes& nodes) {
  const auto leaf = [&](Node node) { return nodes.leaf(node); };
  const auto pod = [&](Node node) { return nodes.pod(node); };
  const auto itself = [](Node node) { return static_cast<int>(node); };
  std::vector<Node> all(nodes.count());
  std::iota(all.begin(), all.end(), Node{0});
  std::erase_if(all, [&](Node node) { return nodes.leaf(node) == kNoLeaf; });
  std::vector<Class> classes;
  const auto add = [&](std::string_view title, const auto& places, const auto& where) {
    Class added{.title = title, .pairs = {}};
    for (const auto& members : places) {
      for (const auto& pair : pairs_between(members, where)) added.pairs.push_back(pair);
    }
    if (!added.pairs.empty()) classes.push_back(std::move(added));
  };
  add("stays below one leaf switch", by_place(nodes.count(), leaf), itself);
  const std::vector<std::vector<Node>> everywhere{all};
  const auto pods = by_place(nodes.count(), pod);
  add("crosses leaf switches", pods.empty() ? everywhere : pods, leaf);
  if (!pods.empty()) add("crosses the switches above leaf switches", everywhere, pod);
  return classes;
}

// Of one node, the pairs of all classes that it stood in.
struct Record {
  std::vector<Meeting> low{};
  bool fine_at_last = false;
};

std::optional<Culprit> slow_level(const Class& lower, const Class& upper) {
  if (upper.median <= 0 || upper.median >= (1 - kLoss) * lower.median) return {};
  const double share = upper.median / lower.median;
  return Culprit{.kind = Culprit::Kind::level,
                 .gbps = upper.median,
                 .share = share,
                 .evidence = {fmt::format(
                     "what {} reaches {} GB/s in {} pairs, {:.0f}% of the {} GB/s of what "
                     "{}",
                     upper.title,
                     rate_text(upper.median),
                     upper.pairs.size(),
                     kPercent * share,
                     rate_text(lower.median),
                     lower.title)},
                 .ruled_out = {"single nodes and leaf switches: most pairs are equally slow"}};
}

std::vector<Culprit> slow_levels(const std::vector<Class>& classes) {
  std::vector<Culprit> culprits;
  for (std::size_t i = 1; i < classes.size(); ++i) {
    if (auto slow = slow_level(classes[i - 1], classes[i])) culprits.push_back(*std::move(slow));
  }
  return culprits;
}

// Measures a class. Its median is zero where nothing of it finished.
Result<Round> measure(Class& pairs, Rounds& rounds) {
  auto round = rounds.measure(fmt::format("what {}", pairs.title), groups_of(pairs.pairs));
  if (!round) return tl::unexpected(round.error());
  auto values = finished(*round);
  if (!values.empty()) pairs.median = median_of(std::move(values));
  return round;
}

}  // namespace

Result<std::vector<Culprit>> slow_levels(const Nodes& nodes, Rounds& rounds) {
  auto classes = classes_of(nodes);
  if (classes.size() < 2) return std::vector<Culprit>{};
  for (auto& each : classes) {
    if (auto round = measure(each, rounds); !round) return tl::unexpected(round.error());
  }
  return slow_levels(classes);
}

Result<Suspicion> fabric(const Nodes& nodes, Rounds& rounds, Search& search) {
  auto classes = classes_of(nodes);
  if (classes.empty()) return make_error("no two of the nodes hang from known leaf switches");
  std::vector<Record> records(nodes.count());
  for (auto& each : classes) {
    const auto round = measure(each, rounds);
    if (!round) return tl::unexpected(round.error());
    search.keep(*round);
    const auto scale = first_scale(finished(*round), round->noise, rounds.rule());
    if (!scale) continue;
    // The last class crosses the most switches: what suspects meet is compared with it.
    search.scale = scale;
    for (std::size_t i = 0; i < each.pairs.size(); ++i) {
      const auto [a, b] = each.pairs[i];
      const auto& gbps = round->gbps[i];
      for (const auto& [node, partner] : {Pair{a, b}, Pair{b, a}}) {
        records[node].fine_at_last = is_fine(gbps, *scale);
        if (is_low(gbps, *scale)) records[node].low.push_back({partner, gbps, *scale});
      }
    }
  }
  if (!search.scale) return Suspicion{};
  search.culprits = slow_levels(classes);
  Suspicion suspicion{.slow = {}, .pairs = {}, .proven = {}, .scale = *search.scale};
  std::vector<Suspect> suspects;
  for (Node node = 0; node < nodes.count(); ++node) {
    auto& record = records[node];
    if (record.fine_at_last && record.low.empty()) {
      suspicion.proven.push_back(node);
    } else {
      suspects.push_back({.node = node, .meetings = std::move(record.low)});
    }
  }
  Retry retry(nodes, rounds, search, suspicion);
  if (auto done = retry.run(std::move(suspects)); !done) return tl::unexpected(done.error());
  return suspicion;
}

}  // namespace muster::bench::locate
