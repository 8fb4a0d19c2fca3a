// SPDX-License-Identifier: Apache-2.0
// gpu.nvlink_state: the expected number of NVLinks of each GPU is active, at full speed, each with
// a peer.

#include "checks/catalogue.hpp"
#include "checks/shared/nvlinks.hpp"
#include "checks/shared/peers.hpp"

namespace muster::checks::gpu_nvlink_state {
namespace {

using gpu::LinkPeer;
using gpu::Links;
using gpu::LinkState;

// The links of one GPU by state. Links that the GPU does not offer are left out.
struct LinksByState {
  Links up;
  Links inactive;
  Links unclear;

  explicit LinksByState(const Gpu& gpu)
      : up(gpu::links_where(gpu, gpu::is_up)),
        inactive(gpu::links_where(
            gpu, [](const NvLink& link) { return gpu::is(link, LinkState::inactive); })),
        unclear(gpu::links_where(gpu, [](const NvLink& link) {
          return link.state ? *link.state > static_cast<unsigned>(LinkState::asleep)
                            : link.state.is_unreadable();
        })) {}
};

std::string why_unclear(const NvLink& link) {
  return link.state ? fmt::format("unknown NVML state {}", *link.state) : link.state.why();
}

// True if NVML reports no links, as it does for every GPU if NVLink is disabled in the driver.
bool has_none(const Gpu& gpu) {
  return gpu.nvlinks ? gpu.nvlinks->empty()
                     : gpu.nvlinks.is_absent() &&
                           gpu::has_nvml_code(gpu.nvlinks.why(), gpu::NvmlCode::not_supported);
}

bool all_inactive(const Gpu& gpu) {
  return has_none(gpu) || (gpu.nvlinks && LinksByState(gpu).inactive.size() == gpu.nvlinks->size());
}

// If no GPU has an active link, the cause is the switches or the driver, not the GPUs.
std::optional<Finding> none_at_all(const Snapshot& snapshot, const Profile& profile) {
  std::size_t gpus = 0;
  for (const Gpu* each : gpu::answering(snapshot)) {
    if (!gpu::hides_links(*each).empty()) continue;
    if (!all_inactive(*each)) return std::nullopt;
    ++gpus;
  }
  if (gpus < 2) return std::nullopt;
  const int wanted = *profile.gpu->nvlink_state.links;
  const bool switched = profile.topo->nvlink_matrix.ends_in == NvlinkEnd::nvswitch;
  Finding finding = failed(
      kNode, fmt::format("no active NVLink on any of {} GPUs, expected {} on each", gpus, wanted),
      switched ? Remedy::restart_service : gpu::reset_remedy(snapshot), {0, wanted, "links"});
  finding.seen_by = {{.check = "gpu.fabric", .device = "node"},
                     {.check = "host.services", .device = "nvidia-fabricmanager*"}};
  return finding;
}

std::optional<Finding> lost(const Gpu& gpu, const LinksByState& links, int wanted, Remedy remedy) {
  const auto most = links.up.size() + links.unclear.size();
  if (most >= static_cast<std::size_t>(wanted)) return std::nullopt;
  std::string message = has_none(gpu)
                            ? fmt::format("no NVLinks, expected {}", wanted)
                            : fmt::format("{} of {} expected NVLinks {} active", links.up.size(),
                                          wanted, links.up.size() == 1 ? "is" : "are");
  if (!links.inactive.empty()) {
    message += fmt::format(": {} inactive", gpu::named(links.inactive, "is", "are"));
  }
  return gpu::failed(gpu, std::move(message), remedy,
                     {count_value(links.up.size()), wanted, "links"});
}

std::optional<Finding> slow(const Gpu& gpu, const Limit<BytesPerSecond>& limit, Remedy remedy) {
  constexpr double kRounding = 0.01;
  if (!limit) return std::nullopt;
  const double expected = limit->value / kGiga;
  double slowest = expected;
  const Links links = gpu::links_where(gpu, [&](const NvLink& link) {
    // A driver that does not report the speed reports 0.
    if (!gpu::is(link, LinkState::active) || link.speed_mbps.value_or(0) == 0) return false;
    const double speed = static_cast<double>(*link.speed_mbps) * kMega / kGiga;
    slowest = std::min(slowest, speed);
    return speed < expected * (1 - kRounding);
  });
  if (links.empty()) return std::nullopt;
  return gpu::failed(
      gpu,
      fmt::format("{} at {}{:g} GB/s, expected {:g} GB/s", gpu::named(links, "runs", "run"),
                  links.size() == 1 ? "" : "down to ", slowest, expected),
      remedy, {slowest, expected, "GB/s"});
}

// Judges nothing if NVML names no peer on any GPU: then it cannot see them. Links beyond the wanted
// number may be unwired and need no peer.
std::optional<Finding> without_peer(const Snapshot& snapshot, const Gpu& gpu, int wanted,
                                    Remedy remedy) {
  const auto gpus = gpu::answering(snapshot);
  const bool known = std::ranges::any_of(
      gpus, [](const Gpu* each) { return !gpu::links_where(*each, gpu::has_known_peer).empty(); });
  const Links links = gpu::links_where(gpu, [](const NvLink& link) {
    return gpu::is_up(link) && gpu::leads_to(link, LinkPeer::unknown);
  });
  const auto up = gpu::links_where(gpu, gpu::is_up).size();
  const bool enough = up - links.size() >= static_cast<std::size_t>(wanted);
  if (!known || links.empty() || enough) return std::nullopt;
  return gpu::failed(
      gpu,
      fmt::format("{} active and {} no peer known to NVML", gpu::named(links, "is", "are"),
                  links.size() == 1 ? "has" : "have"),
      remedy, {count_value(links.size()), 0, "links"});
}

Finding unclear(const Gpu& gpu, std::string_view what, const Links& links, const std::string& why) {
  return unknown(gpu::name_of(gpu),
                 fmt::format("the {} of {} is unknown: {}", what, gpu::named(links), why));
}

// Returns a finding if NVML could not read the speed or peer of a link that is up.
std::optional<Finding> unreadable(const Gpu& gpu, const Limit<BytesPerSecond>& speed) {
  const Links speeds = gpu::links_where(gpu, [](const NvLink& link) {
    return gpu::is(link, LinkState::active) && link.speed_mbps.is_unreadable();
  });
  if (speed && !speeds.empty()) {
    return unclear(gpu, "speed", speeds, speeds.front()->speed_mbps.why());
  }
  const Links peers = gpu::links_where(
      gpu, [](const NvLink& link) { return gpu::is_up(link) && link.remote_type.is_unreadable(); });
  if (peers.empty()) return std::nullopt;
  return unclear(gpu, "peer", peers, peers.front()->remote_type.why());
}

// If links lead directly to other GPUs, a lost GPU takes the links to it down.
std::vector<SeenBy> gone_peers(const Snapshot& snapshot, const Profile& profile) {
  std::vector<SeenBy> gone;
  if (profile.topo->nvlink_matrix.ends_in != NvlinkEnd::gpu) return gone;
  for (const auto& each : snapshot.nvml->gpus) {
    if (gpu::answers(each)) continue;
    gone.push_back({.check = "gpu.present", .device = gpu::name_of(each)});
  }
  return gone;
}

// How many links the GPUs of each model have, and how fast they are. Without a limit, a GPU is
// compared with the others of its model.
struct PeerLinks {
  Peers counts;
  Peers speeds;
};

PeerLinks peer_links_of(const Snapshot& snapshot) {
  PeerLinks peers;
  for (const Gpu* each : gpu::answering(snapshot)) {
    const Links up = gpu::links_where(*each, gpu::is_up);
    const bool known = has_none(*each) || (each->nvlinks && LinksByState(*each).unclear.empty());
    if (!each->model || !known || !gpu::hides_links(*each).empty()) continue;
    peers.counts.add(*each->model, gpu::name_of(*each), static_cast<double>(up.size()));
    for (const NvLink* link : up) {
      if (link->speed_mbps.value_or(0) == 0) continue;
      peers.speeds.add(*each->model, "", static_cast<double>(*link->speed_mbps));
    }
  }
  return peers;
}

GpuNvlinkLimits limits_of(const PeerLinks& peers, const Gpu& gpu) {
  GpuNvlinkLimits limits;
  const auto model = gpu.model.value_or("");
  if (const auto links = peers.counts.usual_of(model)) limits.links = static_cast<int>(*links);
  if (const auto speed = peers.speeds.usual_of(model))
    limits.speed = BytesPerSecond{*speed * kMega};
  return limits;
}

// True if the links of GPUs of this model end in NVSwitches, which connect every GPU.
bool is_behind_switches(const Snapshot& snapshot, const Gpu& gpu) {
  return std::ranges::any_of(gpu::answering(snapshot), [&](const Gpu* each) {
    const auto to_switch = [](const NvLink& link) {
      return gpu::is_up(link) && gpu::leads_to(link, LinkPeer::nvswitch);
    };
    return each->model == gpu.model && !gpu::links_where(*each, to_switch).empty();
  });
}

std::optional<Finding> judge_links(const Snapshot& snapshot, const Gpu& gpu, const Profile& profile,
                                   const GpuNvlinkLimits& limits) {
  const LinksByState links(gpu);
  const Remedy reset = gpu::reset_remedy(snapshot);
  for (auto finding : {lost(gpu, links, *limits.links, reset), slow(gpu, limits.speed, reset),
                       without_peer(snapshot, gpu, *limits.links, reset)}) {
    if (!finding) continue;
    finding->seen_by = gone_peers(snapshot, profile);
    // A bridge may join only some of the cards.
    const bool bridged =
        !profile.gpu->nvlink_state.links && links.up.empty() && !is_behind_switches(snapshot, gpu);
    if (bridged) finding->outcome = Outcome::warn;
    return finding;
  }
  if (links.up.size() < static_cast<std::size_t>(*limits.links)) {
    return unclear(gpu, "state", links.unclear, why_unclear(*links.unclear.front()));
  }
  return unreadable(gpu, limits.speed);
}

std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu, const Profile& profile,
                                 const GpuNvlinkLimits& limits) {
  if (limits.links.value_or(0) <= 0) return std::nullopt;
  if (const auto why = gpu::hides_links(gpu); !why.empty()) {
    return skipped(fmt::format("NVLinks are not judged: {}", why), gpu::name_of(gpu));
  }
  if (!gpu.nvlinks && !has_none(gpu))
    return gpu::not_reported(gpu, "the state of NVLinks", gpu.nvlinks);
  const bool known = has_none(gpu) || std::ranges::any_of(*gpu.nvlinks, [](const NvLink& link) {
                       return !link.state.is_absent();
                     });
  if (!known) return gpu::not_reported(gpu, "the state of NVLinks", gpu.nvlinks->front().state);
  return judge_links(snapshot, gpu, profile, limits);
}

Findings judge_by_peers(const Snapshot& snapshot, const Profile& profile) {
  const PeerLinks peers = peer_links_of(snapshot);
  auto findings = gpu::each(
      snapshot,
      [&](const Gpu& gpu) { return judge_one(snapshot, gpu, profile, limits_of(peers, gpu)); },
      "with as many NVLinks as GPUs like it");
  auto undecided =
      peers.counts.differences({.what = "the number of active NVLinks", .devices = "GPUs"}, "",
                               {.outcome = Outcome::warn, .remedy = Remedy::fix_config});
  std::erase_if(undecided, [](const Finding& each) { return each.device != kNode; });
  if (!undecided.empty()) drop_passes(findings);
  append(findings, std::move(undecided));
  return findings;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (!profile.gpu->nvlink_state.links) return judge_by_peers(snapshot, profile);
  if (auto finding = none_at_all(snapshot, profile)) return {*std::move(finding)};
  const auto wanted = static_cast<unsigned>(*profile.gpu->nvlink_state.links);
  return gpu::each(
      snapshot,
      [&](const Gpu& gpu) { return judge_one(snapshot, gpu, profile, profile.gpu->nvlink_state); },
      fmt::format("with {} active", counted(wanted, "NVLink")));
}

std::optional<Finding> not_applicable(const Snapshot& snapshot, const Profile& profile) {
  const auto& wanted = profile.gpu->nvlink_state.links;
  if (wanted.value_or(1) <= 0) return not_expected("NVLink");
  if (auto nothing = gpu::none_to_judge(snapshot, profile)) return nothing;
  if (wanted || !snapshot.nvml.ok()) return std::nullopt;
  return unless(std::ranges::any_of(
                    gpu::answering(snapshot),
                    [](const Gpu* each) { return !gpu::links_where(*each, gpu::is_up).empty(); }),
                not_expected("NVLink"));
}

}  // namespace

constinit const Check check = gpu::check_of_gpus({
    .id = "gpu.nvlink_state",
    .title = "The expected number of NVLinks is active, at full speed",
    .why =
        "GPUs of one node exchange data over NVLink. When a link is lost, jobs do not fail at "
        "once: collectives run at the speed of the slowest GPU, or NCCL stops with an error if a "
        "GPU cannot reach its peers at all. Links that are active or asleep count; a link that "
        "sleeps to save power wakes up by itself. A GPU may have more links than are wired, so "
        "only the number that the profile expects must be up. If no GPU has an active link, one "
        "finding points to the Fabric Manager, the switches or the driver.",
    .fix =
        "One GPU: drain the node and reset the GPU, or reboot a virtual machine. A link that is "
        "lost again is hardware: report the GPU's serial number and the link to the provider, or "
        "run the field diagnostic and reseat the GPU or its bridge. All GPUs: look at "
        "nvidia-fabricmanager and its log.",
    .code = "NHC2016",
    .nvml_parts = {.links = true},
    .not_applicable = not_applicable,
    .judge = judge,
});

}  // namespace muster::checks::gpu_nvlink_state
