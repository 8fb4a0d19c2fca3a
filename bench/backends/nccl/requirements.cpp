// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/requirements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

using State = RequirementResult::State;

// The value of a variable that NCCL has read; null if it is not set.
const std::string* setting(const Transport& transport, const char* name) {
  const auto found = transport.settings.find(name);
  return found == transport.settings.end() ? nullptr : &found->second;
}

bool is_set(const Transport& transport, const char* name) {
  const auto* value = setting(transport, name);
  return value != nullptr && *value != "0" && !value->empty();
}

// "NAME=value is set" of the first of these variables that is.
std::string setting_of(const Transport& transport, const std::vector<const char*>& names) {
  for (const auto* name : names) {
    const auto* value = setting(transport, name);
    if (value != nullptr) return fmt::format("{}={} is set", name, *value);
  }
  return {};
}

// NCCL always looks for network plugins. A missing one matters only if it was requested.
bool wants_plugin(const Transport& transport) {
  const auto names = [&](const char* name, const std::vector<std::string_view>& no_plugins) {
    const auto* value = setting(transport, name);
    return value != nullptr && !value->empty() && std::ranges::count(no_plugins, *value) == 0;
  };
  return names("NCCL_NET", {"IB", "Socket"}) || names("NCCL_NET_PLUGIN", {"none"});
}

std::string first_of(const std::set<std::string>& texts) {
  return texts.empty() ? std::string() : *texts.begin();
}

std::string joined(const std::set<std::string>& texts, std::string_view separator = ", ") {
  return fmt::format("{}", fmt::join(texts, separator));
}

// Interfaces that do not lead to other nodes.
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
  return fmt::format("NCCL uses {} between nodes, which does not lead to other nodes: {}",
                     fmt::join(inner, ", "),
                     named.empty() ? "set NCCL_SOCKET_IFNAME to the right one" : named);
}

std::string cause_without_hcas(const Transport& transport) {
  const auto denied = joined(transport.denied, "; ");
  if (!transport.hcas.empty()) {
    return fmt::format("NCCL sees HCAs on some nodes only{}{}{}{}",
                       transport.without_hca.empty() ? "" : ", and none on ",
                       joined(transport.without_hca), denied.empty() ? "" : ": ", denied);
  }
  const auto named = setting_of(transport, {"NCCL_IB_HCA"});
  return fmt::format("NCCL sees no HCA{}{}: {}", named.empty() ? "" : "; ", named,
                     denied.empty() ? "in a container, /dev/infiniband and the limit on locked "
                                      "memory must be given to it"
                                    : denied);
}

std::string cause_without_ib(const Transport& transport) {
  if (is_set(transport, "NCCL_IB_DISABLE")) return setting_of(transport, {"NCCL_IB_DISABLE"});
  if (!transport.plugins.empty() && wants_plugin(transport)) return first_of(transport.plugins);
  const auto* net = setting(transport, "NCCL_NET");
  if (net != nullptr && !net->starts_with("IB")) return setting_of(transport, {"NCCL_NET"});
  if (transport.no_hca) return cause_without_hcas(transport);
  if (!transport.denied.empty()) return joined(transport.denied, "; ");
  return cause_in_interfaces(transport);
}

std::string cause_without_gdr(const Transport& transport) {
  if (transport.networks.contains("Socket")) return cause_without_ib(transport);
  auto cause = setting_of(transport, {"NCCL_NET_GDR_LEVEL", "NCCL_IB_GDR_LEVEL"});
  if (!cause.empty()) return cause;
  if (!transport.without_gdr.empty()) {
    return fmt::format(
        "GPUDirect RDMA is not available on {}: nvidia_peermem is not loaded and dma-buf is not "
        "usable",
        joined(transport.without_gdr));
  }
  if (transport.with_gdr.empty()) return {};
  const auto file = setting_of(transport, {"NCCL_TOPO_FILE"});
  return fmt::format("the HCAs support it, but NCCL considers them too far from the GPUs ({})",
                     file.empty() ? "NCCL_TOPO_FILE is not set" : file);
}

std::string cause_without_peers(const Transport& transport) {
  const auto cause = setting_of(transport, {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"});
  return cause.empty() ? first_of(transport.refused) : cause;
}

std::string cause_without_mnnvl(const Transport& transport) {
  return setting_of(transport, {"NCCL_MNNVL_ENABLE", "NCCL_P2P_DISABLE"});
}

std::string cause_without_nvls(const Transport& transport) {
  const auto cause = setting_of(transport, {"NCCL_NVLS_ENABLE", "NCCL_ALGO"});
  if (!cause.empty() || !transport.nvls_missing) return cause;
  return "multicast is not available on the GPUs: they do not support it, or the Fabric Manager or "
         "IMEX has not set it up";
}

std::string cause_without_sharp(const Transport& transport) {
  if (!is_set(transport, "NCCL_COLLNET_ENABLE")) return "NCCL_COLLNET_ENABLE=1 is not set";
  return transport.plugins.empty() ? setting_of(transport, {"NCCL_ALGO"})
                                   : first_of(transport.plugins);
}

enum class Fit { right, wrong, unclear };

Fit fit(bool right) { return right ? Fit::right : Fit::wrong; }

bool is_network(const std::string& name) { return name.starts_with("NET/"); }

// The log does not reveal what a plugin such as UCX sends over.
Fit fits_ib(const std::string& name) {
  if (name.starts_with("NET/IB") || name == "P2P/MNNVL") return Fit::right;
  return is_network(name) && !name.starts_with("NET/Socket") ? Fit::unclear : Fit::wrong;
}

Fit fits_gdr(const std::string& name) {
  return fit(name.find("/GDRDMA") != std::string::npos || !is_network(name));
}

Fit fits_peers(const std::string& name) {
  return fit(name.starts_with("P2P") && name != "P2P/indirect");
}

Fit fits_mnnvl(const std::string& name) { return fit(name == "P2P/MNNVL"); }

class RequirementJudge {
 public:
  RequirementJudge(const Transport& transport, const std::vector<int>& nodes)
      : transport_(transport), nodes_(nodes) {}

  [[nodiscard]] RequirementResult ib() const { return pairs(false, fits_ib); }

  [[nodiscard]] RequirementResult gdr() const { return pairs(false, fits_gdr); }

  [[nodiscard]] RequirementResult p2p() const { return pairs(true, fits_peers); }

  [[nodiscard]] RequirementResult mnnvl() const { return pairs(false, fits_mnnvl); }

  [[nodiscard]] RequirementResult nvls() const {
    return use("NVLS", "NVLS", transport_.nvls_connected);
  }

  [[nodiscard]] RequirementResult sharp() const {
    const bool connected = transport_.collnet_connected || !transport_.in_network.empty();
    return use("CollNet", "COLLNET", connected);
  }

  // Peers are connected over NVLink or PCIe; the topology in the log shows which exists.
  [[nodiscard]] RequirementResult nvlink() const {
    auto result = pairs(true, fits_peers);
    if (result.state != State::met || transport_.links.contains("NVL")) return result;
    if (transport_.links.empty()) {
      return {.what = "the GPUs are peers, and NCCL's log does not show over which links"};
    }
    return {.state = State::missed,
            .what = "the GPUs are peers over PCIe",
            .cause = "NCCL finds no NVLink in the topology"};
  }

 private:
  // Every transport of every pair on one node, or on different ones, must be right.
  [[nodiscard]] RequirementResult pairs(bool inside, Fit (*test)(const std::string& name)) const {
    const auto* const where = inside ? "one node" : "different nodes";
    const auto all = count(inside, [](const std::string& /*name*/) { return true; });
    if (all == 0) return without_pairs(inside, where);
    const auto wrong =
        count(inside, [&](const std::string& name) { return test(name) == Fit::wrong; });
    const auto not_right =
        count(inside, [&](const std::string& name) { return test(name) != Fit::right; });
    if (not_right == 0) return {.state = State::met};
    std::set<std::string> others;
    for (const auto& [name, pairs] : transport_.pairs) {
      const auto is_same = [&name = name](const std::string& other) { return other == name; };
      if (test(name) != Fit::right && count(inside, is_same) > 0) others.insert(name);
    }
    auto what = fmt::format("{} of {} pairs of ranks on {} use {}", wrong == 0 ? not_right : wrong,
                            all, where, fmt::join(with_interfaces(others, transport_), ", "));
    if (wrong == 0) return {.what = what + ", and the log does not show its transport"};
    return {.state = State::missed, .what = std::move(what)};
  }

  // An algorithm in switches, named with this beginning.
  [[nodiscard]] RequirementResult use(std::string_view what, std::string_view beginning,
                                      bool connected) const {
    const bool used = std::ranges::any_of(transport_.algorithms, [&](const auto& function) {
      return std::ranges::any_of(function.second, [&](const std::string& algorithm) {
        return algorithm.starts_with(beginning);
      });
    });
    if (connected || used) return {.state = State::met};
    return {.state = State::missed, .what = fmt::format("NCCL's log shows no {}", what)};
  }

  [[nodiscard]] int node_of(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return index < nodes_.size() ? nodes_[index] : -1;
  }

  // The number of pairs on one node, or on different ones, that use a selected transport.
  [[nodiscard]] std::size_t count(
      bool inside, const std::function<bool(const std::string& name)>& selects) const {
    std::size_t count = 0;
    for_each_pair(pairs_using(transport_, selects), [&](int from, int to) {
      if ((node_of(from) == node_of(to)) == inside) ++count;
    });
    return count;
  }

  // Without pairs of that kind in the log, the network that NCCL has chosen may decide.
  [[nodiscard]] RequirementResult without_pairs(bool inside, std::string_view where) const {
    bool exists = false;
    for (std::size_t i = 1; i < nodes_.size() && !exists; ++i) {
      exists = inside ? std::ranges::count(nodes_, nodes_[i]) > 1 : nodes_[i] != nodes_[0];
    }
    if (!exists) {
      return {.state = State::not_applicable,
              .what = fmt::format("there are no two ranks on {}", where)};
    }
    if (!inside && transport_.networks.contains("Socket")) {
      return {.state = State::missed, .what = "NCCL uses the network Socket"};
    }
    return {.what = fmt::format("NCCL's log shows no transport between ranks on {}", where)};
  }

  const Transport& transport_;
  const std::vector<int>& nodes_;
};

struct RequirementRule {
  Requirement requirement;
  RequirementResult (RequirementJudge::*judge)() const;
  std::string (*cause)(const Transport& transport);
  std::vector<std::string_view> other_words = {};  // NCCL's spelling
};

const std::vector<RequirementRule>& rules() {
  using Judge = RequirementJudge;
  static const std::vector<RequirementRule> all{
      {Requirement::ib, &Judge::ib, cause_without_ib, {"net/ib", "infiniband"}},
      {Requirement::gdr, &Judge::gdr, cause_without_gdr, {"gpudirect", "gdrdma"}},
      {Requirement::p2p, &Judge::p2p, cause_without_peers},
      {Requirement::nvlink, &Judge::nvlink, cause_without_peers},
      {Requirement::mnnvl, &Judge::mnnvl, cause_without_mnnvl, {"p2p/mnnvl"}},
      {Requirement::nvls, &Judge::nvls, cause_without_nvls},
      {Requirement::sharp, &Judge::sharp, cause_without_sharp, {"collnet"}}};
  return all;
}

const RequirementRule& rule_of(Requirement requirement) {
  return *std::ranges::find(rules(), requirement, &RequirementRule::requirement);
}

}  // namespace

Result<std::vector<Requirement>> parse_requirements(std::string_view list) {
  std::vector<Requirement> requirements;
  for (const auto part : split(list, ',')) {
    const auto word = lower_case(trim(part));
    const auto found = std::ranges::find_if(rules(), [&](const RequirementRule& rule) {
      return word == to_string(rule.requirement) || std::ranges::count(rule.other_words, word) > 0;
    });
    if (found == rules().end()) {
      return make_error("unknown transport \"{}\": expected {}", printable(word, 40),
                        or_list(kRequirementWords));
    }
    if (std::ranges::count(requirements, found->requirement) == 0) {
      requirements.push_back(found->requirement);
    }
  }
  return requirements;
}

std::vector<RequirementResult> check_requirements(const Transport& transport,
                                                  const std::vector<int>& nodes,
                                                  const std::vector<Requirement>& requirements) {
  const RequirementJudge judge(transport, nodes);
  std::vector<RequirementResult> results;
  for (const auto requirement : requirements) {
    const auto& rule = rule_of(requirement);
    auto result = transport.empty() ? RequirementResult{.what = "NCCL's log is empty"}
                                    : (judge.*rule.judge)();
    result.requirement = requirement;
    if (result.state == State::missed && result.cause.empty()) result.cause = rule.cause(transport);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace muster::bench
