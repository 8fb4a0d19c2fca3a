// SPDX-License-Identifier: Apache-2.0
// topo.nvlink_matrix: the NVLinks of each GPU lead to the expected switches or GPUs.
// gpu.nvlink_state reports links that are down.
#include <fmt/ranges.h>

#include <array>
#include <set>

#include "checks/catalogue.hpp"
#include "checks/shared/nvlinks.hpp"

namespace muster::checks::topo_nvlink_matrix {
namespace {

using gpu::LinkPeer;
using gpu::Links;

using Addresses = std::set<std::string>;

// The NVLinks of all GPUs that can be judged.
struct NvlinkFabric {
  std::vector<const Gpu*> gpus;
  Addresses addresses;        // of all GPUs that NVML lists
  Addresses judged;           // of the GPUs whose links can be judged
  bool knows_types = false;   // NVML reports the kind of any peer
  bool knows_places = false;  // NVML reports any address of a GPU of this node
};

std::string_view word_for(LinkPeer peer) {
  constexpr std::array<std::string_view, 3> kPeers{"a GPU", "a processor", "a switch"};
  const auto number = static_cast<std::size_t>(peer);
  return number < kPeers.size() ? kPeers.at(number) : "something unknown";
}

NvlinkFabric fabric_of(const Snapshot& snapshot) {
  NvlinkFabric fabric;
  for (const auto& each : snapshot.nvml->gpus) fabric.addresses.insert(each.address);
  for (const Gpu* each : gpu::answering(snapshot)) {
    if (!gpu::hides_links(*each).empty() || !each->nvlinks) continue;
    fabric.gpus.push_back(each);
    fabric.judged.insert(each->address);
  }
  for (const Gpu* each : fabric.gpus) {
    const auto place_is_known = [&](const NvLink& link) {
      return gpu::is_up(link) && link.remote_address &&
             fabric.addresses.contains(*link.remote_address);
    };
    fabric.knows_types =
        fabric.knows_types || !gpu::links_where(*each, gpu::has_known_peer).empty();
    fabric.knows_places = fabric.knows_places || !gpu::links_where(*each, place_is_known).empty();
  }
  return fabric;
}

Finding wrong(const Snapshot& snapshot, const Gpu& gpu, std::string message, Values values) {
  return gpu::failed(gpu, std::move(message), hardware_remedy(snapshot), std::move(values));
}

// Links to something of another kind.
std::optional<Finding> wrong_kind(const Snapshot& snapshot, const Gpu& gpu, LinkPeer expected) {
  const Links links = gpu::links_where(gpu, [&](const NvLink& link) {
    return gpu::has_known_peer(link) && !gpu::leads_to(link, expected);
  });
  if (links.empty()) return std::nullopt;
  const auto found = word_for(static_cast<LinkPeer>(*links.front()->remote_type));
  const auto wanted = word_for(expected);
  return wrong(
      snapshot, gpu,
      fmt::format("{} to {}, expected {}", gpu::named(links, "leads", "lead"), found, wanted),
      {std::string(found), std::string(wanted)});
}

// Links to an address that is not another GPU of this node.
std::optional<Finding> wrong_place(const Snapshot& snapshot, const Gpu& gpu,
                                   const NvlinkFabric& fabric) {
  const Links links = gpu::links_where(gpu, [&](const NvLink& link) {
    return gpu::is_up(link) && link.remote_address &&
           (*link.remote_address == gpu.address ||
            !fabric.addresses.contains(*link.remote_address));
  });
  if (links.empty()) return std::nullopt;
  const auto& place = *links.front()->remote_address;
  return wrong(
      snapshot, gpu,
      fmt::format("{} to {}, expected another GPU of this node", gpu::named(links, "leads", "lead"),
                  place == gpu.address ? "the GPU itself" : place),
      {place, "another GPU of this node"});
}

Addresses neighbours_of(const Gpu& gpu, const NvlinkFabric& fabric) {
  Addresses neighbours;
  for (const NvLink* link : gpu::links_where(gpu, gpu::is_up)) {
    if (!link->remote_address || *link->remote_address == gpu.address) continue;
    if (fabric.addresses.contains(*link->remote_address)) neighbours.insert(*link->remote_address);
  }
  return neighbours;
}

// True if the missing link may be one that is down or whose state or peer is unknown.
bool may_hide_a_link(const Gpu& gpu) {
  return std::ranges::any_of(
      *gpu.nvlinks, [](const NvLink& link) { return !gpu::is_up(link) || !link.remote_address; });
}

std::optional<Finding> wrong_count(const Snapshot& snapshot, const Gpu& gpu,
                                   const Addresses& neighbours, const Limit<int>& limit) {
  const auto wanted = static_cast<std::size_t>(std::max(0, limit.value_or(0)));
  if (!limit || neighbours.size() == wanted) return std::nullopt;
  if (neighbours.size() < wanted && may_hide_a_link(gpu)) return std::nullopt;
  return wrong(snapshot, gpu,
               fmt::format("NVLinks lead to {}, expected {}",
                           counted(neighbours.size(), "other GPU"), wanted),
               {count_value(neighbours.size()), count_value(wanted), "GPUs"});
}

std::optional<Finding> wrong_pair(const Snapshot& snapshot, const Gpu& gpu,
                                  const Addresses& neighbours, const NvlinkFabric& fabric,
                                  const TopoNvlinkLimits& limits) {
  const auto wanted = limits.pairs.find(gpu.address);
  if (wanted == limits.pairs.end() || may_hide_a_link(gpu)) return std::nullopt;
  std::vector<std::string> missing;
  for (const auto& peer : wanted->second) {
    if (!neighbours.contains(peer) && fabric.judged.contains(peer)) missing.push_back(peer);
  }
  if (missing.empty()) return std::nullopt;
  return wrong(snapshot, gpu,
               fmt::format("no NVLink leads to the GPU at {}", fmt::join(missing, ", ")),
               {fmt::format("{}", fmt::join(neighbours, ", ")),
                fmt::format("{}", fmt::join(wanted->second, ", "))});
}

bool is_direct(const TopoNvlinkLimits& limits) {
  return limits.ends_in == NvlinkEnd::gpu || limits.neighbours || !limits.pairs.empty();
}

std::optional<Finding> judge_places(const Snapshot& snapshot, const Gpu& gpu,
                                    const NvlinkFabric& fabric, const Profile& profile) {
  const auto& limits = profile.topo->nvlink_matrix;
  if (!is_direct(limits) || !fabric.knows_places) return std::nullopt;
  // A GPU that NVML does not list may be the other end.
  if (snapshot.nvml->gpus.size() < gpu::expected_count(profile)) return std::nullopt;
  if (auto finding = wrong_place(snapshot, gpu, fabric)) return finding;
  const auto neighbours = neighbours_of(gpu, fabric);
  if (auto finding = wrong_count(snapshot, gpu, neighbours, limits.neighbours)) return finding;
  return wrong_pair(snapshot, gpu, neighbours, fabric, limits);
}

// Facts that NVML failed to report.
std::optional<Finding> unreadable(const Gpu& gpu, bool direct) {
  const Links links = gpu::links_where(gpu, [&](const NvLink& link) {
    return gpu::is_up(link) &&
           (link.remote_type.is_unreadable() || (direct && link.remote_address.is_unreadable()));
  });
  if (links.empty()) return std::nullopt;
  const NvLink& first = *links.front();
  return unknown(gpu::name_of(gpu),
                 fmt::format("the peer of {} is unknown: {}", gpu::named(links),
                             first.remote_type.is_unreadable() ? first.remote_type.why()
                                                               : first.remote_address.why()));
}

std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu,
                                 const NvlinkFabric& fabric, const Profile& profile) {
  const auto& limits = profile.topo->nvlink_matrix;
  const bool switched = limits.ends_in == NvlinkEnd::nvswitch;
  if (auto finding = wrong_kind(snapshot, gpu, switched ? LinkPeer::nvswitch : LinkPeer::gpu))
    return finding;
  if (auto finding = judge_places(snapshot, gpu, fabric, profile)) return finding;
  return unreadable(gpu, is_direct(limits));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.topo->nvlink_matrix;
  const NvlinkFabric fabric = fabric_of(snapshot);
  Findings findings;
  std::size_t healthy = 0;
  std::size_t without = 0;  // no link is up
  for (const Gpu* each : fabric.gpus) {
    if (gpu::links_where(*each, gpu::is_up).empty()) {
      ++without;
    } else if (auto finding = judge_one(snapshot, *each, fabric, profile)) {
      findings.push_back(*std::move(finding));
    } else {
      ++healthy;
    }
  }
  if (!findings.empty()) return findings;
  if (healthy == 0) {
    return {skipped(fabric.gpus.empty() ? "no GPU reports NVLinks"
                                        : "no NVLink is active: see gpu.nvlink_state")};
  }
  if (!fabric.knows_types && !fabric.knows_places) {
    return {skipped("NVML does not report the peers of NVLinks")};
  }
  std::string message =
      fmt::format("NVLinks of {} lead to {}", counted(healthy, "GPU"),
                  limits.ends_in == NvlinkEnd::nvswitch ? "switches" : "the expected GPUs");
  if (limits.ends_in != NvlinkEnd::nvswitch && !fabric.knows_places) {
    message = fmt::format("NVLinks of {} lead to GPUs; NVML does not report which",
                          counted(healthy, "GPU"));
  }
  if (without > 0) message = fmt::format("{}; {} left out", message, without);
  return {passed(std::move(message))};
}

std::optional<Finding> not_applicable(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.topo->nvlink_matrix;
  if (limits.ends_in == NvlinkEnd::not_told && !is_direct(limits)) {
    return not_expected("NVLink connection between GPUs");
  }
  return gpu::none_to_judge(snapshot, profile);
}

}  // namespace

constinit const Check check = gpu::check_of_gpus({
    .id = "topo.nvlink_matrix",
    .title = "NVLinks lead to the expected switches or GPUs",
    .why =
        "With NVSwitches, every link of a GPU ends in a switch, which connects all pairs of GPUs. "
        "Without switches the links connect GPUs directly, on the board or over bridges, and GPUs "
        "that are not connected use the much slower PCI bus. With a bridge on the wrong pair, or "
        "wrong wiring, all links are active but jobs are slow. This check compares the other end "
        "of each active link that NVML reports: its kind, and for direct links its PCI address. "
        "gpu.nvlink_state reports links that are down.",
    .fix =
        "Look at the bridges: which pairs they join, and whether they are seated well. In a cloud, "
        "report the node to the provider. For your own machines with direct links, list the pairs "
        "in topo.nvlink_matrix.pairs; nvidia-smi topo --matrix prints them.",
    .nvml_parts = {.links = true},
    .not_applicable = not_applicable,
    .judge = judge,
});

}  // namespace muster::checks::topo_nvlink_matrix
