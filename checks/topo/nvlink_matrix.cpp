// SPDX-License-Identifier: Apache-2.0
// topo.nvlink_matrix: the NVLinks of each GPU lead where the profile says: to switches, or directly
// to other GPUs. A link that is down is gpu.nvlink_state's finding.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/nvlinks.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::checks::topo_nvlink_matrix {
namespace {

using gpu::LinkPeer;
using gpu::Links;

using Addresses = std::set<std::string>;

// The NVLinks of all GPUs that can be judged.
struct Fabric {
  std::vector<const Gpu*> gpus;
  Addresses addresses;        // of all GPUs that NVML lists, whether they answer or not
  Addresses answering;        // of those whose links can be judged
  bool knows_types = false;   // NVML names what links lead to at all
  bool knows_places = false;  // it gives addresses at all that are those of GPUs here
};

std::string_view word_for(LinkPeer peer) {
  constexpr std::array<std::string_view, 3> kPeers{"a GPU", "a processor", "a switch"};
  const auto number = static_cast<std::size_t>(peer);
  return number < kPeers.size() ? kPeers.at(number) : "something unknown";
}

Fabric fabric_of(const Snapshot& snapshot) {
  Fabric fabric;
  for (const auto& each : snapshot.nvml->gpus) fabric.addresses.insert(each.address);
  for (const Gpu* each : gpu::answering(snapshot)) {
    if (!gpu::hides_links(*each).empty() || !each->nvlinks) continue;
    fabric.gpus.push_back(each);
    fabric.answering.insert(each->address);
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

// Links to an address that is no other GPU of this node.
std::optional<Finding> wrong_place(const Snapshot& snapshot, const Gpu& gpu, const Fabric& fabric) {
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

Addresses neighbours_of(const Gpu& gpu, const Fabric& fabric) {
  Addresses neighbours;
  for (const NvLink* link : gpu::links_where(gpu, gpu::is_up)) {
    if (!link->remote_address || *link->remote_address == gpu.address) continue;
    if (fabric.addresses.contains(*link->remote_address)) neighbours.insert(*link->remote_address);
  }
  return neighbours;
}

// A link that is down, or whose state or peer is not told, may be the one that is missed.
bool may_miss_a_link(const Gpu& gpu) {
  return std::ranges::any_of(
      *gpu.nvlinks, [](const NvLink& link) { return !gpu::is_up(link) || !link.remote_address; });
}

std::optional<Finding> wrong_count(const Snapshot& snapshot, const Gpu& gpu,
                                   const Addresses& neighbours, const Limit<int>& limit) {
  const auto wanted = static_cast<std::size_t>(std::max(0, limit.value_or(0)));
  if (!limit || neighbours.size() == wanted) return std::nullopt;
  if (neighbours.size() < wanted && may_miss_a_link(gpu)) return std::nullopt;
  return wrong(snapshot, gpu,
               fmt::format("its NVLinks lead to {}, expected {}",
                           counted(neighbours.size(), "other GPU"), wanted),
               {count_value(neighbours.size()), count_value(wanted), "GPUs"});
}

std::optional<Finding> wrong_pair(const Snapshot& snapshot, const Gpu& gpu,
                                  const Addresses& neighbours, const Fabric& fabric,
                                  const TopoNvlinkLimits& limits) {
  const auto wanted = limits.pairs.find(gpu.address);
  if (wanted == limits.pairs.end() || may_miss_a_link(gpu)) return std::nullopt;
  std::vector<std::string> missing;
  for (const auto& peer : wanted->second) {
    if (!neighbours.contains(peer) && fabric.answering.contains(peer)) missing.push_back(peer);
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

std::optional<Finding> judge_places(const Snapshot& snapshot, const Gpu& gpu, const Fabric& fabric,
                                    const Profile& profile) {
  const auto& limits = profile.topo->nvlink_matrix;
  if (!is_direct(limits) || !fabric.knows_places) return std::nullopt;
  // A GPU that is not listed at all may be the other end.
  if (snapshot.nvml->gpus.size() < gpu::expected_count(profile)) return std::nullopt;
  if (auto finding = wrong_place(snapshot, gpu, fabric)) return finding;
  const auto neighbours = neighbours_of(gpu, fabric);
  if (auto finding = wrong_count(snapshot, gpu, neighbours, limits.neighbours)) return finding;
  return wrong_pair(snapshot, gpu, neighbours, fabric, limits);
}

// What NVML should have told and did not.
std::optional<Finding> unreadable(const Gpu& gpu, bool direct) {
  const Links links = gpu::links_where(gpu, [&](const NvLink& link) {
    return gpu::is_up(link) &&
           (link.remote_type.is_unreadable() || (direct && link.remote_address.is_unreadable()));
  });
  if (links.empty()) return std::nullopt;
  const NvLink& first = *links.front();
  return unknown(gpu::name_of(gpu),
                 fmt::format("where {} to is not known: {}", gpu::named(links, "leads", "lead"),
                             first.remote_type.is_unreadable() ? first.remote_type.why()
                                                               : first.remote_address.why()));
}

std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu, const Fabric& fabric,
                                 const Profile& profile) {
  const auto& limits = profile.topo->nvlink_matrix;
  const bool switched = limits.ends_in == NvlinkEnd::nvswitch;
  if (auto finding = wrong_kind(snapshot, gpu, switched ? LinkPeer::nvswitch : LinkPeer::gpu))
    return finding;
  if (auto finding = judge_places(snapshot, gpu, fabric, profile)) return finding;
  return unreadable(gpu, is_direct(limits));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.topo->nvlink_matrix;
  const Fabric fabric = fabric_of(snapshot);
  Findings findings;
  std::size_t well = 0;
  std::size_t without = 0;  // no link is up
  for (const Gpu* each : fabric.gpus) {
    if (gpu::links_where(*each, gpu::is_up).empty()) {
      ++without;
    } else if (auto finding = judge_one(snapshot, *each, fabric, profile)) {
      findings.push_back(*std::move(finding));
    } else {
      ++well;
    }
  }
  if (!findings.empty()) return findings;
  if (well == 0) {
    return {skipped(fabric.gpus.empty() ? "no GPU tells of NVLinks"
                                        : "no NVLink is active: gpu.nvlink_state judges that")};
  }
  if (!fabric.knows_types && !fabric.knows_places) {
    return {skipped("NVML does not tell here what NVLinks lead to")};
  }
  std::string message =
      fmt::format("NVLinks of {} lead to {}", counted(well, "GPU"),
                  limits.ends_in == NvlinkEnd::nvswitch ? "switches" : "the expected GPUs");
  if (limits.ends_in != NvlinkEnd::nvswitch && !fabric.knows_places) {
    message = fmt::format("NVLinks of {} lead to GPUs; which they are NVML does not tell here",
                          counted(well, "GPU"));
  }
  if (without > 0) message = fmt::format("{}; {} left out", message, without);
  return {passed(std::move(message))};
}

std::optional<Finding> not_here(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.topo->nvlink_matrix;
  if (limits.ends_in == NvlinkEnd::not_told && !is_direct(limits)) {
    return not_expected("connection of GPUs by NVLink");
  }
  return gpu::none_to_judge(snapshot, profile);
}

}  // namespace

constinit const Check check{
    .id = "topo.nvlink_matrix",
    .title = "NVLinks lead to the expected switches or GPUs",
    .why =
        "Where there are NVSwitches every link of a GPU ends in one of them, and each pair of GPUs "
        "is connected through them. Without switches the links go directly from GPU to GPU, over "
        "the board or over bridges, and what is not connected goes over the PCI bus, at a fraction "
        "of the speed. A bridge on the wrong pair, or a board that was wired otherwise, leaves all "
        "links active and jobs slow. Compared is what NVML names as the other end of each active "
        "link: its kind, and for direct links its PCI address. A link that is down is "
        "gpu.nvlink_state's finding.",
    .fix =
        "Look at the bridges: which pairs they join, and that they sit well. In a cloud report the "
        "node to the provider. For machines of your own with direct links, write the pairs into "
        "topo.nvlink_matrix.pairs; nvidia-smi topo --matrix shows them.",
    .needs = Probe::nvml | Probe::identity,
    .asks = {.links = true},
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::topo_nvlink_matrix
