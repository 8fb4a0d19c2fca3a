// SPDX-License-Identifier: Apache-2.0
// The words of `muster-bench locate --sim`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "bench/locate/locate_command.hpp"
#include "lib/base/text.hpp"

namespace muster::bench::locate {
namespace {

using Kind = ModelFault::Kind;

constexpr std::size_t kMostNodes = 4096;
constexpr std::size_t kMostGpus = 64;

// What the numbers of a fault count.
enum class Counts { nodes, sizes, leaves, levels, devices, nothing };

struct FaultForm {
  std::string_view name;
  Kind kind;
  Counts first, second;
  bool factor;
};

constexpr std::array kFaults{
    FaultForm{"slow_node", Kind::slow_node, Counts::nodes, Counts::nothing, true},
    FaultForm{"slow_hca", Kind::slow_hca, Counts::nodes, Counts::devices, true},
    FaultForm{"slow_gpu", Kind::slow_gpu, Counts::nodes, Counts::devices, true},
    FaultForm{"slow_link", Kind::slow_link, Counts::nodes, Counts::nodes, true},
    FaultForm{"slow_large", Kind::slow_large, Counts::nodes, Counts::sizes, true},
    FaultForm{"slow_rail", Kind::slow_rail, Counts::devices, Counts::nothing, true},
    FaultForm{"slow_level", Kind::slow_level, Counts::levels, Counts::nothing, true},
    FaultForm{"slow_leaf", Kind::slow_leaf, Counts::leaves, Counts::nothing, true},
    FaultForm{"congestion", Kind::congestion, Counts::leaves, Counts::nothing, true},
    FaultForm{"hang", Kind::hang, Counts::nodes, Counts::nothing, false},
    FaultForm{"hang_link", Kind::hang_link, Counts::nodes, Counts::nodes, false}};

tl::unexpected<Error> wrong(std::string_view what) { return make_error(printable(what)); }

Result<std::size_t> number_in(std::string_view text, std::size_t least, std::size_t most) {
  const auto number = parse_unsigned(text);
  if (number && *number >= least && *number <= most) return static_cast<std::size_t>(*number);
  return wrong(fmt::format("\"{}\" is no whole number from {} to {}", text, least, most));
}

Result<std::size_t> number_of(std::string_view text, const ModelCluster& cluster, Counts what) {
  switch (what) {
    case Counts::devices:
      return number_in(text, 0, static_cast<std::size_t>(cluster.devices) - 1);
    case Counts::leaves:
      return number_in(text, 0, (cluster.nodes - 1) / cluster.nodes_per_leaf);
    case Counts::levels:
      return number_in(text, 1, 2);
    case Counts::sizes:
      return number_in(text, 2, cluster.nodes);
    case Counts::nodes:
    case Counts::nothing:
      break;
  }
  return number_in(text, 0, cluster.nodes - 1);
}

Result<ModelFault> parse_fault(std::string_view text, const ModelCluster& cluster) {
  const auto words = split(text, ':');
  const auto* const form = std::ranges::find(kFaults, words.front(), &FaultForm::name);
  if (form == kFaults.end()) {
    std::vector<std::string> names;
    for (const auto& each : kFaults) names.emplace_back(each.name);
    return wrong(
        fmt::format("\"{}\" is no fault; there are {}", words.front(), fmt::join(names, ", ")));
  }
  const bool second = form->second != Counts::nothing;
  const std::size_t needed = 2U + (second ? 1U : 0U) + (form->factor ? 1U : 0U);
  if (words.size() != needed) {
    return wrong(
        fmt::format("fault {} takes {} numbers, got \"{}\"", form->name, needed - 1, text));
  }
  ModelFault fault{.kind = form->kind};
  auto numbers = put(fault.first, number_of(words[1], cluster, form->first));
  if (numbers && second) numbers = put(fault.second, number_of(words[2], cluster, form->second));
  if (!numbers) return tl::unexpected(numbers.error());
  if (form->second == Counts::nodes && fault.first == fault.second) {
    return wrong(fmt::format("fault {} is between two nodes", form->name));
  }
  if (form->factor) {
    const auto factor = parse_number(words.back());
    if (!factor || *factor <= 0 || *factor > 1) {
      return wrong(fmt::format("the factor of {} must be above 0 and at most 1", text));
    }
    fault.factor = *factor;
  }
  return fault;
}

Result<void> set_share(double& target, std::string_view text) {
  TRY_ASSIGN(const auto share, parse_quantity<PercentKind>(text));
  if (share.value >= 50) return wrong("must be below 50%");
  target = share.value / 100;
  return {};
}

Result<void> set_rate(double& target, std::string_view text) {
  TRY_ASSIGN(const auto rate, parse_quantity<BytesPerSecondKind>(text));
  if (rate.value <= 0) return wrong("must be above zero");
  target = rate.value / 1e9;
  return {};
}

struct Key {
  std::string_view name;
  Result<void> (*set)(ModelCluster& cluster, std::string_view text);
};

constexpr std::array kKeys{
    Key{"nodes", [](auto& c, auto text) { return put(c.nodes, number_in(text, 2, kMostNodes)); }},
    Key{"gpus", [](auto& c, auto text) { return put(c.devices, number_in(text, 1, kMostGpus)); }},
    Key{"leaf",
        [](auto& c, auto text) { return put(c.nodes_per_leaf, number_in(text, 1, kMostNodes)); }},
    Key{"pod",
        [](auto& c, auto text) { return put(c.leaves_per_pod, number_in(text, 1, kMostNodes)); }},
    Key{"rate", [](auto& c, auto text) { return set_rate(c.gbps, text); }},
    Key{"inside", [](auto& c, auto text) { return set_rate(c.inside_gbps, text); }},
    Key{"noise", [](auto& c, auto text) { return set_share(c.noise, text); }},
    Key{"drift", [](auto& c, auto text) { return set_share(c.drift, text); }},
    Key{"seed", [](auto& c, auto text) { return put(c.seed, parse_unsigned(text)); }}};

Result<void> set_word(ModelCluster& cluster, std::string_view word) {
  const auto equals = word.find('=');
  const auto name = word.substr(0, equals);
  const auto* const key = std::ranges::find(kKeys, name, &Key::name);
  if (key == kKeys.end()) {
    std::vector<std::string> names;
    for (const auto& each : kKeys) names.emplace_back(each.name);
    names.emplace_back("fault");
    return wrong(fmt::format("\"{}\" is unknown; there are {}", name, fmt::join(names, ", ")));
  }
  const auto value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
  if (auto done = key->set(cluster, value); !done) {
    return wrong(fmt::format("{}: {}", name, done.error().message));
  }
  return {};
}

}  // namespace

Result<ModelCluster> parse_model(std::string_view text, ModelCluster defaults) {
  constexpr std::string_view kFault = "fault=";
  std::vector<std::string_view> faults;
  for (const auto each : split(text, ',')) {
    const auto word = trim(each);
    if (word.starts_with(kFault)) {
      faults.push_back(word.substr(kFault.size()));
    } else if (auto done = set_word(defaults, word); !done) {
      return tl::unexpected(done.error());
    }
  }
  // Last, since they are held against the numbers of nodes and devices.
  for (const auto each : faults) {
    TRY_ASSIGN(const auto fault, parse_fault(each, defaults));
    defaults.faults.push_back(fault);
  }
  return defaults;
}

}  // namespace muster::bench::locate
