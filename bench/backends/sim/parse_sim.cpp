// SPDX-License-Identifier: Apache-2.0
// The words of --sim.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "bench/backends/sim/cluster.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kMaxNodes = 1024;
constexpr std::uint64_t kMaxPerNode = 64;

tl::unexpected<Error> wrong(std::string_view what) {
  return make_error(fmt::format("--sim: {}", printable(what)));
}

tl::unexpected<Error> unknown(std::string_view kind, std::string_view word,
                              const std::vector<std::string>& known) {
  const auto near = nearest(word, known);
  return wrong(near.empty()
                   ? fmt::format("\"{}\" is no {}; known: {}", word, kind, fmt::join(known, ", "))
                   : fmt::format("\"{}\" is no {}; did you mean {}?", word, kind, near));
}

Result<void> set(int& target, std::string_view key, std::string_view text, std::uint64_t most) {
  const auto number = parse_unsigned(text);
  if (!number || *number > most) {
    return wrong(fmt::format("{}={} is no whole number up to {}", key, text, most));
  }
  target = static_cast<int>(*number);
  return {};
}

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names(table.size());
  std::ranges::transform(table, names.begin(),
                         [](const auto& each) { return std::string(each.name); });
  return names;
}

template <class Kind>
Result<void> set(Quantity<Kind>& target, std::string_view key, std::string_view text) {
  const auto quantity = parse_quantity<Kind>(text);
  if (!quantity) return wrong(fmt::format("{}: {}", key, quantity.error().message));
  target = *quantity;
  return {};
}

// Above 0, up to 1.
Result<void> set_share(double& target, std::string_view key, std::string_view text) {
  const auto number = parse_number(text);
  if (!number || *number <= 0 || *number > 1) {
    return wrong(fmt::format("{} is \"{}\"; it must be above 0 and at most 1", key, text));
  }
  target = *number;
  return {};
}

// "8x200Gb/s", or 0.
Result<void> set_hcas(SimCluster& cluster, std::string_view text) {
  const auto by = text.find('x');
  if (auto done = set(cluster.hcas, "hcas", text.substr(0, by), kMaxPerNode); !done) return done;
  if (by == std::string_view::npos) return {};
  return set(cluster.hca_rate, "hcas", text.substr(by + 1));
}

Result<void> set_algorithm(SimCluster& cluster, std::string_view text) {
  if (text != "ring" && text != "tree") return unknown("algorithm", text, {"ring", "tree"});
  cluster.tree = text == "tree";
  return {};
}

Result<void> set_seed(SimCluster& cluster, std::string_view text) {
  const auto number = parse_unsigned(text);
  if (!number) return wrong(fmt::format("seed={} is no whole number", text));
  cluster.seed = *number;
  return {};
}

// What the numbers of a fault count; empty where any number will do.
struct FaultForm {
  std::string_view name;
  SimFault::Kind kind;
  std::string_view arguments;
  std::string_view first, second = {};
};

constexpr std::array kFaults{
    FaultForm{"slow_hca", SimFault::Kind::slow_hca, "NODE:INDEX:FACTOR", "node", "HCA"},
    FaultForm{"slow_gpu", SimFault::Kind::slow_gpu, "NODE:INDEX:FACTOR", "node", "GPU"},
    FaultForm{"slow_node", SimFault::Kind::slow_node, "NODE:FACTOR", "node"},
    FaultForm{"slow_link", SimFault::Kind::slow_link, "NODE:NODE:FACTOR", "node", "node"},
    FaultForm{"tcp_fallback", SimFault::Kind::tcp_fallback, "", ""},
    FaultForm{"wrong", SimFault::Kind::wrong, "RANK:ELEMENT", "rank"},
    FaultForm{"hang", SimFault::Kind::hang, "RANK:OPERATION", "rank"}};

Result<SimFault> parse_fault(std::string_view text) {
  auto words = split(text, ':');
  const auto* const form = std::ranges::find(kFaults, words.front(), &FaultForm::name);
  if (form == kFaults.end()) {
    return unknown("fault", words.front(), names_of(kFaults));
  }
  const auto needed = form->arguments.empty() ? 0 : split(form->arguments, ':').size();
  if (words.size() - 1 != needed) {
    return wrong(fmt::format("fault {} is written {}{}{}", text, form->name,
                             form->arguments.empty() ? "" : ":", form->arguments));
  }
  SimFault fault{.kind = form->kind};
  if (form->arguments.ends_with("FACTOR")) {
    if (auto done = set_share(fault.factor, fmt::format("the factor of {}", text), words.back());
        !done) {
      return tl::unexpected(done.error());
    }
    words.pop_back();
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto number = parse_unsigned(words[i]);
    if (!number) return wrong(fmt::format("fault {}: \"{}\" is no number", text, words[i]));
    (i == 1 ? fault.first : fault.second) = *number;
  }
  return fault;
}

Result<void> add_fault(SimCluster& cluster, std::string_view text) {
  TRY_ASSIGN(const auto fault, parse_fault(text));
  cluster.faults.push_back(fault);
  return {};
}

struct Key {
  std::string_view name;
  Result<void> (*set)(SimCluster& cluster, std::string_view text);
};

constexpr std::array kKeys{
    Key{"nodes", [](auto& c, auto text) { return set(c.nodes, "nodes", text, kMaxNodes); }},
    Key{"gpus", [](auto& c, auto text) { return set(c.gpus, "gpus", text, kMaxPerNode); }},
    Key{"hcas", set_hcas},
    Key{"link", [](auto& c, auto text) { return set(c.link_rate, "link", text); }},
    Key{"latency", [](auto& c, auto text) { return set(c.latency, "latency", text); }},
    Key{"efficiency",
        [](auto& c, auto text) { return set_share(c.efficiency, "efficiency", text); }},
    Key{"link_efficiency",
        [](auto& c, auto text) { return set_share(c.link_efficiency, "link_efficiency", text); }},
    Key{"tcp", [](auto& c, auto text) { return set(c.tcp_rate, "tcp", text); }},
    Key{"algorithm", set_algorithm},
    Key{"noise", [](auto& c, auto text) { return set(c.noise, "noise", text); }},
    Key{"run_noise", [](auto& c, auto text) { return set(c.run_noise, "run_noise", text); }},
    Key{"seed", set_seed},
    Key{"fault", add_fault}};

Result<void> set_word(SimCluster& cluster, std::string_view word) {
  const auto equals = word.find('=');
  const auto name = word.substr(0, equals);
  const auto* const key = std::ranges::find(kKeys, name, &Key::name);
  if (key == kKeys.end()) {
    return unknown("key", name, names_of(kKeys));
  }
  if (equals == std::string_view::npos) return wrong(fmt::format("{} has no value", name));
  return key->set(cluster, word.substr(equals + 1));
}

// How many there are of what a number counts.
std::optional<int> count_of(const SimCluster& cluster, std::string_view what) {
  if (what == "node") return cluster.nodes;
  if (what == "HCA") return cluster.hcas;
  if (what == "GPU") return cluster.gpus;
  return what == "rank" ? std::optional(ranks_of(cluster)) : std::nullopt;
}

std::optional<std::string> out_of_range(const SimCluster& cluster, const SimFault& fault) {
  if (fault.kind == SimFault::Kind::slow_link && fault.first == fault.second) {
    return "slow_link is between two nodes";
  }
  const auto* const form = std::ranges::find(kFaults, fault.kind, &FaultForm::kind);
  for (const auto& [what, number] :
       {std::pair(form->first, fault.first), std::pair(form->second, fault.second)}) {
    const auto count = count_of(cluster, what);
    if (!count || number < static_cast<std::uint64_t>(*count)) continue;
    return fmt::format("there is no {} {}; there are {}, numbered from 0", what, number, *count);
  }
  return {};
}

Result<SimCluster> checked(SimCluster cluster) {
  constexpr double kWhole = 100;
  constexpr double kMostRunNoise = 10;
  if (cluster.nodes < 1 || cluster.gpus < 1) return wrong("a cluster has a node and a GPU");
  if (cluster.noise.value >= kWhole) return wrong("noise must be below 100%");
  if (cluster.run_noise.value > kMostRunNoise) return wrong("run_noise must be 10% or less");
  for (const double rate :
       {cluster.hca_rate.value, cluster.link_rate.value, cluster.tcp_rate.value}) {
    if (rate <= 0) return wrong("a rate of 0 moves nothing");
  }
  if (cluster.latency.value <= 0) return wrong("a latency of 0 is none");
  for (const auto& fault : cluster.faults) {
    if (const auto why = out_of_range(cluster, fault)) return wrong(*why);
  }
  return cluster;
}

}  // namespace

Result<SimCluster> parse_sim(std::string_view text, SimCluster defaults) {
  if (!trim(text).empty()) {
    for (const auto word : split(text, ',')) {
      if (auto done = set_word(defaults, trim(word)); !done) return tl::unexpected(done.error());
    }
  }
  return checked(std::move(defaults));
}

}  // namespace muster::bench
