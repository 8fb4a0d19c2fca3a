// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/requirements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

using Answer = Taken::Answer;

struct Name {
  std::string_view word;
  Way way;
};

constexpr std::array kNames{
    Name{"ib", Way::ib},         Name{"gdr", Way::gdr},     Name{"p2p", Way::p2p},
    Name{"nvlink", Way::nvlink}, Name{"mnnvl", Way::mnnvl}, Name{"nvls", Way::nvls},
    Name{"sharp", Way::sharp},   Name{"net/ib", Way::ib},   Name{"infiniband", Way::ib},
    Name{"gpudirect", Way::gdr}, Name{"gdrdma", Way::gdr},  Name{"p2p/mnnvl", Way::mnnvl},
    Name{"collnet", Way::sharp}};

// What the environment sets, as NCCL read it; null where it does not.
const std::string* setting(const Transport& transport, const char* name) {
  const auto found = transport.settings.find(name);
  return found == transport.settings.end() ? nullptr : &found->second;
}

bool is_set(const Transport& transport, const char* name) {
  const auto* value = setting(transport, name);
  return value != nullptr && *value != "0" && !value->empty();
}

// The first of these that the environment sets, as NAME=value.
std::string setting_of(const Transport& transport, const std::vector<const char*>& names) {
  for (const auto* name : names) {
    const auto* value = setting(transport, name);
    if (value != nullptr) return fmt::format("{}={} is set", name, *value);
  }
  return {};
}

// NCCL looks for a network plugin on every node; only one that was asked for is missed.
bool wants_plugin(const Transport& transport) {
  const auto names = [&](const char* name, const std::vector<std::string_view>& no_plugins) {
    const auto* value = setting(transport, name);
    return value != nullptr && !value->empty() &&
           std::ranges::find(no_plugins, *value) == no_plugins.end();
  };
  return names("NCCL_NET", {"IB", "Socket"}) || names("NCCL_NET_PLUGIN", {"none"});
}

// Interfaces of this node's own, over which no other one is reached.
std::string cause_in_interfaces(const Transport& transport) {
  constexpr std::array<std::string_view, 6> kInner{"lo", "docker", "virbr", "veth", "cni", "br-"};
  std::vector<std::string> inner;
  for (const auto& name : interfaces_of(transport)) {
    const bool is_inner = std::ranges::any_of(
        kInner, [&](std::string_view beginning) { return name.starts_with(beginning); });
    if (is_inner) inner.push_back(name);
  }
  if (inner.empty()) return {};
  const auto named = setting_of(transport, {"NCCL_SOCKET_IFNAME"});
  return fmt::format("NCCL takes {} for the network between nodes, which does not leave a node: {}",
                     fmt::join(inner, ", "),
                     named.empty() ? "NCCL_SOCKET_IFNAME must name the right one" : named);
}

std::string cause_without_hcas(const Transport& transport) {
  if (!transport.hcas.empty()) {
    return fmt::format("NCCL sees HCAs on some nodes only{}{}",
                       transport.without_hca.empty() ? "" : ", and none on ",
                       fmt::join(transport.without_hca, ", "));
  }
  const auto named = setting_of(transport, {"NCCL_IB_HCA"});
  return fmt::format(
      "NCCL sees no HCA{}{}: in a container, /dev/infiniband and the limit on "
      "locked memory must be given to it",
      named.empty() ? "" : "; ", named);
}

std::string cause_without_ib(const Transport& transport) {
  if (is_set(transport, "NCCL_IB_DISABLE")) return setting_of(transport, {"NCCL_IB_DISABLE"});
  if (!transport.plugins.empty() && wants_plugin(transport)) return *transport.plugins.begin();
  const auto* net = setting(transport, "NCCL_NET");
  if (net != nullptr && !net->starts_with("IB")) return setting_of(transport, {"NCCL_NET"});
  if (transport.no_hca) return cause_without_hcas(transport);
  return cause_in_interfaces(transport);
}

std::string cause_without_gdr(const Transport& transport) {
  if (transport.networks.contains("Socket")) return cause_without_ib(transport);
  auto cause = setting_of(transport, {"NCCL_NET_GDR_LEVEL", "NCCL_IB_GDR_LEVEL"});
  if (!cause.empty()) return cause;
  if (!transport.without_gdr.empty()) {
    return fmt::format(
        "GPUDirect RDMA is not offered for {}: neither nvidia_peermem is loaded nor "
        "dma-buf usable",
        fmt::join(transport.without_gdr, ", "));
  }
  if (!transport.with_gdr.empty()) {
    const auto* file = setting(transport, "NCCL_TOPO_FILE");
    return fmt::format(
        "the HCAs offer it, and NCCL takes them to be too far from the GPUs ({})",
        file == nullptr ? "NCCL_TOPO_FILE is not set" : fmt::format("NCCL_TOPO_FILE={}", *file));
  }
  return {};
}

std::string cause_without_peers(const Transport& transport) {
  auto cause = setting_of(transport, {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"});
  if (!cause.empty()) return cause;
  return transport.refused.empty() ? "" : *transport.refused.begin();
}

std::string cause_without_nvls(const Transport& transport) {
  auto cause = setting_of(transport, {"NCCL_NVLS_ENABLE", "NCCL_ALGO"});
  if (!cause.empty()) return cause;
  if (transport.nvls_missing) {
    return "multicast is not available on the GPUs: they lack it, or the Fabric Manager or IMEX "
           "has not set it up";
  }
  return {};
}

std::string cause_without_sharp(const Transport& transport) {
  if (!is_set(transport, "NCCL_COLLNET_ENABLE")) return "NCCL_COLLNET_ENABLE=1 is not set";
  if (!transport.plugins.empty()) return *transport.plugins.begin();
  return setting_of(transport, {"NCCL_ALGO"});
}

bool uses_algorithm(const Transport& transport, std::string_view beginning) {
  return std::ranges::any_of(transport.algorithms, [&](const auto& function) {
    return std::ranges::any_of(function.second, [&](const std::string& algorithm) {
      return algorithm.starts_with(beginning);
    });
  });
}

enum class Fit { right, wrong, unclear };
using Test = std::function<Fit(const std::string& way)>;

Fit fit(bool right) { return right ? Fit::right : Fit::wrong; }

bool is_network(const std::string& way) { return way.starts_with("NET/"); }

// What a plugin such as UCX sends over, the log does not say.
Fit fits_ib(const std::string& way) {
  if (way.starts_with("NET/IB") || way == "P2P/MNNVL") return Fit::right;
  return is_network(way) && !way.starts_with("NET/Socket") ? Fit::unclear : Fit::wrong;
}

Fit fits_peers(const std::string& way) {
  return fit(way.starts_with("P2P") && way != "P2P/indirect");
}

// The pairs of a kind, and those that do not go the way that they must.
struct Pairs {
  std::size_t all = 0;
  std::size_t wrong = 0;
  std::size_t unclear = 0;
  std::set<std::string> others;  // their ways

  // So many of these ways.
  void add(std::size_t count, const std::set<std::string>& paths, const Test& test) {
    auto worst = Fit::right;
    for (const auto& path : paths) {
      const auto now = test(path);
      if (now == Fit::right) continue;
      if (worst != Fit::wrong) worst = now;
      others.insert(path);
    }
    all += count;
    if (worst == Fit::wrong) wrong += count;
    if (worst == Fit::unclear) unclear += count;
  }
};

class Judge {
 public:
  Judge(const Transport& transport, const std::vector<int>& nodes)
      : transport_(transport), nodes_(nodes) {}

  [[nodiscard]] Taken taken(Way way) const {
    auto taken = transport_.empty() ? Taken{.what = "NCCL's log says nothing"} : judged(way);
    taken.way = way;
    return taken;
  }

 private:
  [[nodiscard]] Taken judged(Way way) const {
    switch (way) {
      case Way::ib:
        return of_pairs(way, false, fits_ib);
      case Way::gdr:
        return of_pairs(way, false, [](const std::string& path) {
          return fit(path.find("/GDRDMA") != std::string::npos || !is_network(path));
        });
      case Way::p2p:
        return of_pairs(way, true, fits_peers);
      case Way::nvlink:
        return nvlink();
      case Way::mnnvl:
        return of_pairs(way, false,
                        [](const std::string& path) { return fit(path == "P2P/MNNVL"); });
      case Way::nvls:
        return of_run(way, transport_.nvls_connected || uses_algorithm(transport_, "NVLS"));
      case Way::sharp:
        return of_run(way, transport_.collnet_connected || !transport_.in_network.empty() ||
                               uses_algorithm(transport_, "COLLNET"));
    }
    return {};
  }

  [[nodiscard]] int node_of(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return index < nodes_.size() ? nodes_[index] : -1;
  }

  [[nodiscard]] std::string cause(Way way) const {
    switch (way) {
      case Way::ib:
        return cause_without_ib(transport_);
      case Way::gdr:
        return cause_without_gdr(transport_);
      case Way::p2p:
      case Way::nvlink:
        return cause_without_peers(transport_);
      case Way::nvls:
        return cause_without_nvls(transport_);
      case Way::sharp:
        return cause_without_sharp(transport_);
      case Way::mnnvl:
        return setting_of(transport_, {"NCCL_MNNVL_ENABLE", "NCCL_P2P_DISABLE"});
    }
    return {};
  }

  // Every way of every pair of ranks on one node, or on different ones, must be right.
  [[nodiscard]] Taken of_pairs(Way way, bool inside, const Test& test) const {
    std::map<RankPairs::Ways, std::size_t> counts;
    transport_.pairs.for_each([&](int from, int to, RankPairs::Ways ways) {
      if ((node_of(from) == node_of(to)) == inside) ++counts[ways];
    });
    Pairs pairs;
    for (const auto& [ways, count] : counts) {
      pairs.add(count, transport_.pairs.names_of(ways), test);
    }
    const auto* const where = inside ? "one node" : "different nodes";
    if (pairs.all == 0) return no_pairs(way, inside, where);
    if (pairs.wrong == 0 && pairs.unclear == 0) return {.answer = Answer::yes};
    auto what = fmt::format("{} of {} pairs of ranks on {} use {}",
                            pairs.wrong == 0 ? pairs.unclear : pairs.wrong, pairs.all, where,
                            fmt::join(with_interfaces(pairs.others, transport_), ", "));
    if (pairs.wrong == 0) return {.what = what + ", and the log does not say over what that sends"};
    return {.answer = Answer::no, .what = std::move(what), .cause = cause(way)};
  }

  // No data between two ranks of the kind. That is as it must be where there are none; else the
  // network that NCCL chose may tell.
  [[nodiscard]] Taken no_pairs(Way way, bool inside, std::string_view where) const {
    bool exists = false;
    for (std::size_t i = 1; i < nodes_.size() && !exists; ++i) {
      exists = inside ? std::ranges::count(nodes_, nodes_[i]) > 1 : nodes_[i] != nodes_[0];
    }
    if (!exists) {
      return {.answer = Answer::does_not_apply,
              .what = fmt::format("there are no two ranks on {}", where)};
    }
    if (!inside && transport_.networks.contains("Socket")) {
      return {.answer = Answer::no, .what = "NCCL uses the network Socket", .cause = cause(way)};
    }
    return {.what = fmt::format("NCCL's log tells no way between ranks on {}", where)};
  }

  // A peer may be reached over NVLink or over PCIe; the topology in the log tells which there is.
  [[nodiscard]] Taken nvlink() const {
    auto taken = of_pairs(Way::nvlink, true, fits_peers);
    if (taken.answer != Answer::yes || transport_.links.contains("NVL")) return taken;
    if (transport_.links.empty()) {
      return {.what = "the GPUs are peers, and NCCL's log does not tell over which links"};
    }
    return {.answer = Answer::no,
            .what = "the GPUs are peers over PCIe",
            .cause = "NCCL finds no NVLink in the topology"};
  }

  [[nodiscard]] Taken of_run(Way way, bool used) const {
    if (used) return {.answer = Answer::yes};
    return {.answer = Answer::no,
            .what = fmt::format("NCCL's log tells of no {}", way == Way::nvls ? "NVLS" : "CollNet"),
            .cause = cause(way)};
  }

  const Transport& transport_;
  const std::vector<int>& nodes_;
};

}  // namespace

std::string_view to_string(Way way) {
  for (const auto& name : kNames) {
    if (name.way == way) return name.word;
  }
  return {};
}

Result<std::vector<Way>> parse_ways(std::string_view list) {
  std::vector<Way> ways;
  for (const auto part : split(list, ',')) {
    const auto word = lower_case(trim(part));
    const auto* const found = std::ranges::find(kNames, word, &Name::word);
    if (found == kNames.end()) {
      return make_error(fmt::format(
          "\"{}\" is no transport: ib, gdr, p2p, nvlink, mnnvl, nvls, sharp", printable(word, 40)));
    }
    if (std::ranges::find(ways, found->way) == ways.end()) ways.push_back(found->way);
  }
  return ways;
}

std::vector<Taken> ways_taken(const Transport& transport, const std::vector<int>& nodes,
                              const std::vector<Way>& ways) {
  const Judge judge(transport, nodes);
  std::vector<Taken> answers;
  answers.reserve(ways.size());
  for (const auto way : ways) answers.push_back(judge.taken(way));
  return answers;
}

}  // namespace muster::bench
