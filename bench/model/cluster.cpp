// SPDX-License-Identifier: Apache-2.0
#include "bench/model/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kMaxNodes = 4096;
constexpr std::uint64_t kMaxPerNode = 64;
constexpr double kBitsPerByte = 8;

tl::unexpected<Error> sim_error(std::string_view what) {
  return make_error("--sim: {}", printable(what));
}

template <class Table>
std::string unknown(std::string_view kind, std::string_view word, const Table& table) {
  std::vector<std::string> known;
  for (const auto& each : table) {
    if (known.empty() || known.back() != each.name) known.emplace_back(each.name);
  }
  const auto near = nearest(word, known);
  return fmt::format("unknown {0} \"{1}\"; valid {0}s: {2}{3}", kind, word, fmt::join(known, ", "),
                     near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

// The result of the parser: `rate` and `inside` apply to the hardware that the other words give.
struct ParsedSim {
  SimCluster cluster;
  std::optional<BytesPerSecond> rate{}, inside{};
};

Result<void> set_count(int& target, std::string_view text, std::uint64_t least,
                       std::uint64_t most) {
  const auto number = parse_unsigned(text);
  if (!number || *number < least || *number > most) {
    return make_error("invalid number \"{}\", expected {} to {}", text, least, most);
  }
  target = static_cast<int>(*number);
  return {};
}

// Above 0, up to 1.
Result<void> set_share(double& target, std::string_view text) {
  const auto number = parse_number(text);
  if (!number || *number <= 0 || *number > 1) {
    return make_error("invalid share \"{}\", expected above 0 and at most 1", text);
  }
  target = *number;
  return {};
}

Result<void> set_deviation(Percent& target, std::string_view text) {
  TRY_ASSIGN(target, parse_quantity<PercentKind>(text));
  if (target.value >= 50) return make_error("expected below 50%");
  return {};
}

// A rate or a time.
template <class Kind>
Result<void> set_positive(Quantity<Kind>& target, std::string_view text) {
  TRY_ASSIGN(target, parse_quantity<Kind>(text));
  if (target.value <= 0) return make_error("expected above 0");
  return {};
}

Result<void> set_positive(std::optional<BytesPerSecond>& target, std::string_view text) {
  return set_positive(target.emplace(), text);
}

Result<void> set_gpus(SimCluster& cluster, std::string_view text) {
  cluster.on_host = false;
  return set_count(cluster.gpus, text, 1, kMaxPerNode);
}

// "8x200Gb/s", or 0.
Result<void> set_hcas(SimCluster& cluster, std::string_view text) {
  const auto by = text.find('x');
  TRY(set_count(cluster.hcas, text.substr(0, by), 0, kMaxPerNode));
  if (by == std::string_view::npos) return {};
  return set_positive(cluster.hca_rate, text.substr(by + 1));
}

Result<void> set_algorithm(SimCluster& cluster, std::string_view text) {
  if (text != "ring" && text != "tree") {
    return make_error("unknown algorithm \"{}\", expected ring or tree", text);
  }
  cluster.tree = text == "tree";
  cluster.nvls_efficiency = 0;
  return {};
}

Result<void> set_seed(std::uint64_t& target, std::string_view text) {
  const auto number = parse_unsigned(text);
  if (!number) return make_error("invalid number \"{}\"", text);
  target = *number;
  return {};
}

struct FaultForm {
  std::string_view name;
  SimFault::Kind kind;
  std::string_view arguments;  // each is a FACTOR or has a range, see most_of()
};

using FaultKind = SimFault::Kind;
constexpr std::array kFaults{FaultForm{"slow_node", FaultKind::slow_node, "NODE:FACTOR"},
                             FaultForm{"slow_hca", FaultKind::slow_hca, "NODE:HCA:FACTOR"},
                             FaultForm{"slow_gpu", FaultKind::slow_gpu, "NODE:GPU:FACTOR"},
                             FaultForm{"slow_link", FaultKind::slow_link, "NODE:NODE:FACTOR"},
                             FaultForm{"slow_large", FaultKind::slow_large, "NODE:COUNT:FACTOR"},
                             FaultForm{"slow_rail", FaultKind::slow_rail, "HCA:FACTOR"},
                             FaultForm{"slow_leaf", FaultKind::slow_leaf, "LEAF:FACTOR"},
                             FaultForm{"slow_level", FaultKind::slow_level, "LEVEL:FACTOR"},
                             FaultForm{"congestion", FaultKind::congestion, "LEAF:FACTOR"},
                             FaultForm{"tcp_fallback", FaultKind::tcp_fallback, ""},
                             FaultForm{"ib_fallback", FaultKind::ib_fallback, ""},
                             FaultForm{"wrong", FaultKind::wrong, "RANK:ELEMENT"},
                             FaultForm{"hang", FaultKind::hang_node, "NODE"},
                             FaultForm{"hang", FaultKind::hang, "RANK:OPERATION"},
                             FaultForm{"hang_link", FaultKind::hang_link, "NODE:NODE"}};

std::vector<std::string_view> arguments_of(const FaultForm& form) {
  return form.arguments.empty() ? std::vector<std::string_view>() : split(form.arguments, ':');
}

// The range of an argument; all numbers without one.
std::optional<std::pair<int, int>> range_of(std::string_view argument, const SimCluster& cluster) {
  if (argument == "NODE") return {{0, cluster.nodes - 1}};
  if (argument == "HCA") return {{0, cluster.hcas - 1}};
  if (argument == "GPU") return {{0, cluster.on_host ? -1 : cluster.gpus - 1}};
  if (argument == "RANK") return {{0, ranks_of(cluster) - 1}};
  if (argument == "LEAF") return {{0, (cluster.nodes - 1) / cluster.nodes_per_leaf}};
  if (argument == "LEVEL") return {{1, 2}};
  if (argument == "COUNT") return {{2, cluster.nodes}};
  return std::nullopt;
}

Result<void> add_fault(SimCluster& cluster, std::string_view text) {
  const auto words = split(text, ':');
  const auto* const named = std::ranges::find(kFaults, words.front(), &FaultForm::name);
  if (named == kFaults.end()) return make_error(unknown("fault", words.front(), kFaults));
  const auto* const form = std::ranges::find_if(kFaults, [&](const FaultForm& each) {
    return each.name == named->name && arguments_of(each).size() + 1 == words.size();
  });
  if (form == kFaults.end()) {
    return make_error("invalid fault \"{}\", expected {}{}{}", text, named->name,
                      named->arguments.empty() ? "" : ":", named->arguments);
  }
  SimFault fault{.kind = form->kind};
  const auto arguments = arguments_of(*form);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto word = words[i + 1];
    if (arguments[i] == "FACTOR") {
      TRY(set_share(fault.factor, word));
      continue;
    }
    const auto number = parse_unsigned(word);
    if (!number) {
      return make_error("invalid fault \"{}\": \"{}\" is not a number", text, word);
    }
    (i == 0 ? fault.first : fault.second) = *number;
  }
  cluster.faults.push_back(fault);
  return {};
}

struct Key {
  std::string_view name;
  Result<void> (*set)(ParsedSim& sim, std::string_view text);
};

constexpr std::array kKeys{
    Key{"profile", [](auto&, auto) { return Result<void>(); }},
    Key{"nodes", [](auto& s, auto text) { return set_count(s.cluster.nodes, text, 1, kMaxNodes); }},
    Key{"gpus", [](auto& s, auto text) { return set_gpus(s.cluster, text); }},
    Key{"hcas", [](auto& s, auto text) { return set_hcas(s.cluster, text); }},
    Key{"domain",
        [](auto& s, auto text) {
          return set_count(s.cluster.nodes_per_domain, text, 1, kMaxNodes);
        }},
    Key{"leaf",
        [](auto& s, auto text) { return set_count(s.cluster.nodes_per_leaf, text, 1, kMaxNodes); }},
    Key{"pod",
        [](auto& s, auto text) { return set_count(s.cluster.leaves_per_pod, text, 1, kMaxNodes); }},
    Key{"link", [](auto& s, auto text) { return set_positive(s.cluster.link_rate, text); }},
    Key{"rate", [](auto& s, auto text) { return set_positive(s.rate, text); }},
    Key{"inside", [](auto& s, auto text) { return set_positive(s.inside, text); }},
    Key{"latency", [](auto& s, auto text) { return set_positive(s.cluster.latency, text); }},
    Key{"efficiency", [](auto& s, auto text) { return set_share(s.cluster.efficiency, text); }},
    Key{"link_efficiency",
        [](auto& s, auto text) { return set_share(s.cluster.link_efficiency, text); }},
    Key{"tcp", [](auto& s, auto text) { return set_positive(s.cluster.tcp_rate, text); }},
    Key{"algorithm", [](auto& s, auto text) { return set_algorithm(s.cluster, text); }},
    Key{"noise", [](auto& s, auto text) { return set_deviation(s.cluster.noise, text); }},
    Key{"run_noise", [](auto& s, auto text) { return set_deviation(s.cluster.run_noise, text); }},
    Key{"drift", [](auto& s, auto text) { return set_deviation(s.cluster.drift, text); }},
    Key{"seed", [](auto& s, auto text) { return set_seed(s.cluster.seed, text); }},
    Key{"fault", [](auto& s, auto text) { return add_fault(s.cluster, text); }}};

Result<void> set_word(ParsedSim& sim, std::string_view word) {
  const auto equals = word.find('=');
  const auto name = word.substr(0, equals);
  const auto* const key = std::ranges::find(kKeys, name, &Key::name);
  if (key == kKeys.end()) return sim_error(unknown("word", name, kKeys));
  if (equals == std::string_view::npos) return sim_error(fmt::format("{}: no value", name));
  const auto set = key->set(sim, word.substr(equals + 1));
  return set ? set : sim_error(fmt::format("{}: {}", name, set.error().message));
}

Result<ParsedSim> parse_words(std::string_view text, const SimCluster& defaults) {
  ParsedSim sim{.cluster = defaults};
  if (trim(text).empty()) return sim;
  std::set<std::string_view> names;
  for (const auto each : split(text, ',')) {
    const auto word = trim(each);
    const auto name = word.substr(0, word.find('='));
    if (name != "fault" && !names.insert(name).second) {
      return sim_error(fmt::format("{} is given twice", name));
    }
    TRY(set_word(sim, word));
  }
  return sim;
}

void apply_rates(ParsedSim& sim) {
  auto& cluster = sim.cluster;
  if (sim.inside) {
    cluster.link_rate.value = sim.inside->value / cluster.inside_efficiency();
  }
  if (!sim.rate) return;
  if (uses_tcp(cluster)) {
    cluster.tcp_rate = *sim.rate;
  } else {
    cluster.hca_rate.value = sim.rate->value * kBitsPerByte / cluster.hcas / cluster.efficiency;
  }
}

Result<void> check_fault(const SimFault& fault, const SimCluster& cluster) {
  const auto* const form = std::ranges::find(kFaults, fault.kind, &FaultForm::kind);
  const auto arguments = arguments_of(*form);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto range = range_of(arguments[i], cluster);
    const auto number = i == 0 ? fault.first : fault.second;
    if (!range) continue;
    const auto [least, most] = *range;
    if (most < least) {
      return sim_error(fmt::format("fault {}: the nodes have no {}", form->name, arguments[i]));
    }
    if (std::cmp_greater_equal(number, least) && std::cmp_less_equal(number, most)) continue;
    return sim_error(fmt::format("fault {}: unknown {} {}, expected {} to {}", form->name,
                                 lower_case(arguments[i]), number, least, most));
  }
  if (form->arguments.starts_with("NODE:NODE") && fault.first == fault.second) {
    return sim_error(fmt::format("fault {}: expected two different nodes", form->name));
  }
  return {};
}

bool has_fault(const SimCluster& cluster, FaultKind kind) {
  return std::ranges::count(cluster.faults, kind, &SimFault::kind) > 0;
}

// The rate that the profile expects of nodes in one NVLink domain; 0 for none.
double rate_of_domain(const Profile& profile) {
  for (const auto& limit : profile.bench->job_all_reduce) {
    if (limit.over == BenchOver::nvlink && limit.expected) return limit.expected->value;
  }
  return 0;
}

}  // namespace

int ranks_of(const SimCluster& cluster) { return cluster.nodes * cluster.gpus; }

bool uses_tcp(const SimCluster& cluster) {
  return cluster.hcas == 0 || has_fault(cluster, FaultKind::tcp_fallback);
}

bool share_domain(const SimCluster& cluster, std::size_t node, std::size_t other) {
  const auto size = static_cast<std::size_t>(cluster.nodes_per_domain);
  return size > 1 && node / size == other / size;
}

bool use_nvlink(const SimCluster& cluster, std::size_t node, std::size_t other) {
  return share_domain(cluster, node, other) && !has_fault(cluster, FaultKind::tcp_fallback) &&
         !has_fault(cluster, FaultKind::ib_fallback);
}

std::string sim_node_name(std::size_t node) { return fmt::format("sim{}", node); }

SimCluster sim_cluster_of(const Profile& profile) {
  SimCluster cluster;
  const auto gpus = profile.gpu->present.count.value_or(cluster.gpus);
  cluster.on_host = gpus == 0;
  cluster.gpus = std::max(1, gpus);
  cluster.hcas = profile.ib->present.count.value_or(cluster.hcas);
  cluster.hca_rate = profile.ib->rate.expected.value_or(cluster.hca_rate);
  if (profile.gpu->fabric.cluster.value_or(false)) {
    constexpr int kGpusOfRack = 72;
    cluster.nodes_per_domain = kGpusOfRack / cluster.gpus;
  }
  const auto& [links, speed] = profile.gpu->nvlink_state;
  if (links && speed) {
    cluster.link_rate = {*links * speed->value};
    cluster.link_efficiency =
        std::clamp(rate_of_domain(profile) / cluster.link_rate.value, cluster.link_efficiency, 1.0);
  } else {
    // Links of an unknown rate are not the bottleneck.
    const double network = cluster.hcas * cluster.hca_rate.value / kBitsPerByte;
    cluster.link_rate.value = std::max(cluster.link_rate.value, 2 * network);
  }
  const auto& inside = profile.bench->node_all_reduce;
  if (inside.algorithm == BenchAlgorithm::nvls && inside.expected) {
    cluster.nvls_efficiency = inside.expected->value / cluster.link_rate.value;
  }
  return cluster;
}

bool is_sim_fault(std::string_view name) {
  return std::ranges::count(kFaults, name, &FaultForm::name) > 0;
}

Result<SimCluster> parse_sim(std::string_view text, const SimCluster& defaults) {
  TRY_ASSIGN(auto sim, parse_words(text, defaults));
  apply_rates(sim);
  // Any word may change which parts the cluster has.
  for (const auto& fault : sim.cluster.faults) TRY(check_fault(fault, sim.cluster));
  return std::move(sim.cluster);
}

Result<void> check_sim(std::string_view text) {
  TRY(parse_words(text, {}));
  return {};
}

std::string profile_of_sim(std::string_view text) {
  constexpr std::string_view kProfile = "profile=";
  std::string profile;
  for (const auto each : split(text, ',')) {
    const auto word = trim(each);
    if (word.starts_with(kProfile)) profile = word.substr(kProfile.size());
  }
  return profile;
}

}  // namespace muster::bench
