// SPDX-License-Identifier: Apache-2.0
// gpu.p2p: each GPU can read the memory of each other one, where the profile expects it.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/starved.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_p2p {
namespace {

// NVML's answers about two GPUs.
enum : unsigned { possible = 0, registry = 4, not_supported = 5 };

// In words, by number.
constexpr std::array<std::string_view, 6> kWords{"possible",
                                                 "the chipset does not support it",
                                                 "the GPU does not support it",
                                                 "they are below different I/O hubs",
                                                 "a setting of the driver disables it",
                                                 "not supported"};

struct Pair {
  const Gpu* first = nullptr;
  const Gpu* second = nullptr;
  unsigned status = possible;

  [[nodiscard]] bool broken() const { return status != possible; }

  [[nodiscard]] bool has(const Gpu* gpu) const { return first == gpu || second == gpu; }
};

struct Pairs {
  std::vector<Pair> told;
  std::size_t untold = 0;
};

std::optional<unsigned> status_of(const Gpu& gpu, const Gpu& peer) {
  if (!gpu.peers) return std::nullopt;
  const auto found = gpu.peers->find(peer.address);
  // NVML has a word for "not known" as well.
  if (found == gpu.peers->end() || found->second > not_supported) return std::nullopt;
  return found->second;
}

Pairs pairs_of(const std::vector<const Gpu*>& gpus) {
  Pairs pairs;
  for (auto first = gpus.begin(); first != gpus.end(); ++first) {
    for (auto second = first + 1; second != gpus.end(); ++second) {
      auto status = status_of(**first, **second);
      const auto back = status_of(**second, **first);
      if (!status || (*status == possible && back)) status = back;
      if (status) {
        pairs.told.push_back({*first, *second, *status});
      } else {
        ++pairs.untold;
      }
    }
  }
  return pairs;
}

// A GPU that reaches none of its peers, while these reach each other.
bool is_culprit(const Gpu* gpu, const Pairs& pairs) {
  const auto its = [&](const Pair& pair) { return pair.has(gpu); };
  const auto its_broken = [&](const Pair& pair) { return pair.has(gpu) && pair.broken(); };
  const auto told = std::ranges::count_if(pairs.told, its);
  return told > 1 && told == std::ranges::count_if(pairs.told, its_broken);
}

// The answers of all these pairs in words, each once.
std::string reasons_of(const std::vector<Pair>& pairs) {
  std::set<std::string_view> words;
  for (const Pair& pair : pairs) words.insert(kWords.at(pair.status));
  return fmt::format("{}", fmt::join(words, ", "));
}

// What brings this about as well: the fabric, the links, and the daemon that sets them up.
void leave_to_causes(const std::vector<std::string>& devices, Finding& finding) {
  for (const auto& device : devices) {
    finding.seen_by.push_back({"gpu.fabric", device});
    finding.seen_by.push_back({"gpu.nvlink_state", device});
  }
  finding.seen_by.push_back({"host.services", "nvidia-fabricmanager*"});
}

Remedy remedy_of(const std::vector<Pair>& pairs) {
  const bool set = std::ranges::any_of(
      pairs, [](const Pair& pair) { return pair.status == unsigned{registry}; });
  return set ? Remedy::fix_config : Remedy::reboot;
}

Values values_of(const std::vector<Pair>& pairs) { return {count_value(pairs.size()), 0, "pairs"}; }

Finding all_broken(const std::vector<Pair>& broken) {
  Finding finding = failed(kNode,
                           fmt::format("no GPU can read the memory of another, {}: {}",
                                       counted(broken.size(), "pair"), reasons_of(broken)),
                           remedy_of(broken), values_of(broken));
  leave_to_causes({"*"}, finding);
  return finding;
}

Finding culprit(const Gpu& gpu, const std::vector<Pair>& its) {
  Finding finding = gpu::failed(
      gpu,
      fmt::format("no peer access to any other GPU, {} of them: {}", its.size(), reasons_of(its)),
      remedy_of(its), values_of(its));
  leave_to_causes({finding.device}, finding);
  return finding;
}

Finding broken_pair(const Pair& pair) {
  const std::string peer = gpu::name_of(*pair.second);
  Finding finding = gpu::failed(*pair.first,
                                fmt::format("no peer access to {} at {}: {}", peer,
                                            pair.second->address, kWords.at(pair.status)),
                                remedy_of({pair}), values_of({pair}));
  leave_to_causes({finding.device, peer}, finding);
  return finding;
}

Findings judge_pairs(const std::vector<const Gpu*>& gpus, const Pairs& pairs) {
  std::vector<Pair> broken;
  std::ranges::copy_if(pairs.told, std::back_inserter(broken),
                       [](const Pair& pair) { return pair.broken(); });
  if (broken.size() > 1 && broken.size() == pairs.told.size()) return {all_broken(broken)};
  Findings findings;
  for (const Gpu* gpu : gpus) {
    if (!is_culprit(gpu, pairs)) continue;
    std::vector<Pair> its;
    for (const Pair& pair : pairs.told) {
      if (pair.has(gpu)) its.push_back(pair);
    }
    findings.push_back(culprit(*gpu, its));
    std::erase_if(broken, [&](const Pair& pair) { return pair.has(gpu); });
  }
  for (const Pair& pair : broken) findings.push_back(broken_pair(pair));
  return findings;
}

// Peers that are GPUs without instances: with MIG on there is no peer access by design.
std::vector<const Gpu*> candidates(const Snapshot& snapshot) {
  auto gpus = gpu::answering(snapshot);
  std::erase_if(gpus, [](const Gpu* gpu) { return gpu->modes.mig.value_or(false); });
  return gpus;
}

// A call that did not return is a fault of the driver whether or not peers are expected. A GPU that
// hangs every call hangs this one as well.
Finding hung(const Snapshot& snapshot, const Gpu& gpu) {
  Finding finding = failed(
      kNode,
      fmt::format("the driver does not tell whether GPUs reach each other: {}", gpu.peers.why()),
      Remedy::reboot);
  finding.code = "NHC2015";
  finding.seen_by = {{"gpu.present", "*"}};
  leave_undecided(snapshot, finding);
  return finding;
}

const Gpu* first_of(const std::vector<const Gpu*>& gpus, bool (*holds)(const Gpu&)) {
  const auto found = std::ranges::find_if(gpus, [&](const Gpu* gpu) { return holds(*gpu); });
  return found == gpus.end() ? nullptr : *found;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto gpus = candidates(snapshot);
  if (const Gpu* gpu = first_of(gpus, [](const Gpu& each) { return each.peers.is_unreadable(); })) {
    return {hung(snapshot, *gpu)};
  }
  if (!profile.gpu->p2p.expected.value_or(false)) return {not_expected("peer access between GPUs")};
  if (gpus.size() < 2) return {skipped("fewer than two whole GPUs answer")};
  if (const Gpu* gpu = first_of(gpus, [](const Gpu& each) { return each.peers.is_absent(); })) {
    return {skipped(fmt::format("peer access is not known: {}", gpu->peers.why()))};
  }
  const Pairs pairs = pairs_of(gpus);
  Findings findings = judge_pairs(gpus, pairs);
  if (pairs.untold > 0) {
    findings.push_back(
        unknown(kNode, fmt::format("NVML does not tell whether {} of GPUs reach each other",
                                   counted(pairs.untold, "pair"))));
  }
  return or_pass(std::move(findings),
                 fmt::format("{} read each other's memory, {}", counted(gpus.size(), "GPU"),
                             counted(pairs.told.size(), "pair")));
}

}  // namespace

constinit const Check check{
    .id = "gpu.p2p",
    .title = "GPUs that should reach each other do",
    .why =
        "Asks the driver for each pair of GPUs whether one can read the other's memory (peer "
        "access). Without it NCCL copies through host memory, and the node is slow in silence. "
        "A GPU that reaches none of the others is named once, not once for each of them. Where "
        "links or the fabric are found to be broken in the same report, the finding is left to "
        "gpu.nvlink_state, gpu.fabric or host.services. A driver that never answers the question "
        "fails even where no peers are expected.",
    .fix =
        "nvidia-smi topo -p2p r shows the matrix. With NVSwitch, nvidia-fabricmanager must run, in "
        "the driver's own version, before the first job; on PCIe, look at IOMMU and access control "
        "services (pci.acs). A setting of the driver: look for NVreg_RegistryDwords in "
        "/etc/modprobe.d. Then reboot.",
    .needs = Probe::nvml | Probe::identity,
    .asks = {.pairs = true},
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_p2p
