// SPDX-License-Identifier: Apache-2.0
// Whether GPUs can access each other's memory, and HCAs the memory of GPUs.
#include <fmt/ranges.h>

#include <array>
#include <set>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"

namespace muster::checks {
namespace {

// gpu.p2p: each GPU can read the memory of every other one, if the profile expects it.

// NVML's status of a pair of GPUs, and its text.
enum : unsigned { possible = 0, registry = 4, not_supported = 5 };

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

  [[nodiscard]] bool is_broken() const { return status != possible; }

  [[nodiscard]] bool has(const Gpu* gpu) const { return first == gpu || second == gpu; }
};

struct Pairs {
  std::vector<Pair> known;
  std::size_t unknown = 0;  // of GPUs whose peers could be read
};

std::optional<unsigned> status_of(const Gpu& gpu, const Gpu& peer) {
  if (!gpu.peers) return std::nullopt;
  const auto found = gpu.peers->find(peer.address);
  // NVML has a status for "unknown" as well.
  if (found == gpu.peers->end() || found->second > not_supported) return std::nullopt;
  return found->second;
}

// Broken if it is broken one way, and else unknown if it is unknown one way.
std::optional<unsigned> status_both_ways(const Gpu& first, const Gpu& second) {
  const auto there = status_of(first, second);
  const auto back = status_of(second, first);
  if (there.value_or(possible) != possible) return there;
  if (back.value_or(possible) != possible) return back;
  return there && back ? there : std::nullopt;
}

Pairs pairs_of(const std::vector<const Gpu*>& gpus) {
  Pairs pairs;
  for (auto first = gpus.begin(); first != gpus.end(); ++first) {
    for (auto second = first + 1; second != gpus.end(); ++second) {
      if (const auto status = status_both_ways(**first, **second)) {
        pairs.known.push_back({*first, *second, *status});
      } else if ((*first)->peers && (*second)->peers) {
        ++pairs.unknown;
      }
    }
  }
  return pairs;
}

// True for a GPU that reaches none of its peers.
bool is_culprit(const Gpu* gpu, const Pairs& pairs) {
  const auto its = [&](const Pair& pair) { return pair.has(gpu); };
  const auto its_broken = [&](const Pair& pair) { return pair.has(gpu) && pair.is_broken(); };
  const auto known = std::ranges::count_if(pairs.known, its);
  return known > 1 && known == std::ranges::count_if(pairs.known, its_broken);
}

std::string reasons_of(const std::vector<Pair>& pairs) {
  std::set<std::string_view> words;
  for (const Pair& pair : pairs) words.insert(kWords.at(pair.status));
  return fmt::format("{}", fmt::join(words, ", "));
}

// A finding about a GPU, or the node for null. Other checks may find the cause on `devices`: the
// fabric, the links, and the daemon that configures them.
Finding no_access(const Gpu* gpu, std::string message, const std::vector<Pair>& pairs,
                  const std::vector<std::string>& devices) {
  const bool set = std::ranges::count(pairs, unsigned{registry}, &Pair::status) > 0;
  const Remedy remedy = set ? Remedy::fix_config : Remedy::reboot;
  const Values values{count_value(pairs.size()), 0, "pairs"};
  Finding finding = gpu == nullptr ? failed(kNode, std::move(message), remedy, values)
                                   : gpu::failed(*gpu, std::move(message), remedy, values);
  for (const auto& device : devices) {
    finding.seen_by.push_back({"gpu.fabric", device});
    finding.seen_by.push_back({"gpu.nvlink_state", device});
  }
  finding.seen_by.push_back({"host.services", "nvidia-fabricmanager*"});
  return finding;
}

Findings judge_pairs(const std::vector<const Gpu*>& gpus, const Pairs& pairs) {
  std::vector<Pair> broken;
  std::ranges::copy_if(pairs.known, std::back_inserter(broken),
                       [](const Pair& pair) { return pair.is_broken(); });
  if (broken.size() > 1 && broken.size() == pairs.known.size()) {
    return {no_access(nullptr,
                      fmt::format("no GPU can read the memory of another ({}): {}",
                                  counted(broken.size(), "pair"), reasons_of(broken)),
                      broken, {"*"})};
  }
  Findings findings;
  for (const Gpu* gpu : gpus) {
    if (!is_culprit(gpu, pairs)) continue;
    std::vector<Pair> its;
    std::ranges::copy_if(pairs.known, std::back_inserter(its),
                         [&](const Pair& pair) { return pair.has(gpu); });
    findings.push_back(no_access(
        gpu, fmt::format("no peer access to any of {} other GPUs: {}", its.size(), reasons_of(its)),
        its, {gpu::name_of(*gpu)}));
    std::erase_if(broken, [&](const Pair& pair) { return pair.has(gpu); });
  }
  for (const Pair& pair : broken) {
    const std::string peer = gpu::name_of(*pair.second);
    findings.push_back(no_access(pair.first,
                                 fmt::format("no peer access to {} at {}: {}", peer,
                                             pair.second->address, kWords.at(pair.status)),
                                 {pair}, {gpu::name_of(*pair.first), peer}));
  }
  return findings;
}

// MIG instances have no peer access.
std::vector<const Gpu*> gpus_without_mig(const Snapshot& snapshot) {
  auto gpus = gpu::answering(snapshot);
  std::erase_if(gpus, [](const Gpu* gpu) { return gpu->modes.mig.value_or(false); });
  return gpus;
}

bool never_returned(const Gpu& gpu) {
  return gpu.peers.is_unreadable() && gpu.peers.why().ends_with(kDidNotReturn);
}

// A call that never returns is a driver fault even if no peer access is expected. gpu.present
// reports a GPU on which every call hangs.
Finding driver_hangs(const Snapshot& snapshot, const Gpu& gpu) {
  Finding finding = failed(
      kNode,
      fmt::format("the driver does not report which GPUs reach each other: {}", gpu.peers.why()),
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

Findings judge_peer_access(const Snapshot& snapshot, const Profile& profile) {
  const auto gpus = gpus_without_mig(snapshot);
  if (const Gpu* gpu = first_of(gpus, never_returned)) return {driver_hangs(snapshot, *gpu)};
  if (!profile.gpu->p2p.expected.value_or(false)) return {not_expected("peer access between GPUs")};
  if (gpus.size() < 2) return {skipped("fewer than two GPUs without MIG respond")};
  if (const Gpu* gpu = first_of(gpus, [](const Gpu& each) { return each.peers.is_absent(); })) {
    return {skipped(fmt::format("peer access is unknown: {}", gpu->peers.why()))};
  }
  const Pairs pairs = pairs_of(gpus);
  Findings findings = judge_pairs(gpus, pairs);
  for (const Gpu* gpu : gpus) {
    if (!gpu->peers) findings.push_back(gpu::not_reported(*gpu, "its peer access", gpu->peers));
  }
  if (pairs.unknown > 0) {
    findings.push_back(unknown(kNode, fmt::format("NVML does not report peer access of {}",
                                                  counted(pairs.unknown, "GPU pair"))));
  }
  return or_pass(std::move(findings),
                 fmt::format("{} read each other's memory, {}", counted(gpus.size(), "GPU"),
                             counted(pairs.known.size(), "pair")));
}

// gpu.direct_rdma: HCAs can reach GPU memory, through nvidia_peermem or dma-buf.

// The first numbers of a version: 5.12 of "5.12.0-rc3", 535.161 of "535.161.08".
std::optional<std::pair<std::uint64_t, std::uint64_t>> version_of(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.empty()) return std::nullopt;
  const auto digits = [](std::string_view part) {
    return parse_unsigned(part.substr(0, part.find_first_not_of("0123456789")));
  };
  const auto major = digits(parts[0]);
  const auto minor = parts.size() > 1 ? digits(parts[1]) : Result<std::uint64_t>(0);
  if (!major || !minor) return std::nullopt;
  return std::pair{*major, *minor};
}

// A certain reason why dma-buf is not usable; uncertain ones are `unknown`.
Finding unusable(std::string why) { return failed(kNode, std::move(why), Remedy::fix_config); }

std::optional<Finding> old_kernel(const Fact<std::string>& release) {
  constexpr std::pair<std::uint64_t, std::uint64_t> kSince{5, 12};
  if (!release) return not_known(kNode, "the kernel's version", release);
  const auto version = version_of(*release);
  if (!version) return unknown(kNode, fmt::format("cannot parse kernel version \"{}\"", *release));
  if (*version >= kSince) return std::nullopt;
  // Enterprise kernels have an old version but backport newer features.
  const bool may_have_backport = release->find(".el") != std::string::npos;
  const auto why = fmt::format("kernel {} is older than 5.12", *release);
  return may_have_backport ? unknown(kNode, fmt::format("{}, but may have a backport", why))
                           : unusable(why);
}

std::optional<Finding> old_driver(const Nvml& nvml) {
  constexpr std::pair<std::uint64_t, std::uint64_t> kSince{515, 0};
  if (!nvml.open_module) {
    return not_known(kNode, "whether the open kernel module is loaded", nvml.open_module);
  }
  if (!*nvml.open_module) return unusable("the driver's kernel module is not the open one");
  const auto& driver = nvml.driver ? nvml.driver : nvml.module;
  const auto version = driver ? version_of(*driver) : std::nullopt;
  if (!version) return unknown(kNode, "the driver's version is unknown");
  if (*version >= kSince) return std::nullopt;
  return unusable(fmt::format("driver {} is older than 515", *driver));
}

// The last setting wins.
std::optional<Finding> turned_off(const Snapshot& snapshot) {
  const auto& environment = snapshot.environment;
  if (!environment.ok() || !environment->nccl) return std::nullopt;
  const NcclSetting* found = nullptr;
  for (const auto& setting : *environment->nccl) {
    if (setting.name == "NCCL_DMABUF_ENABLE") found = &setting;
  }
  if (found == nullptr || found->value != "0") return std::nullopt;
  return unusable(fmt::format("NCCL_DMABUF_ENABLE is 0 ({})", found->origin));
}

// Why dma-buf is not usable, if so. A certain reason wins over an uncertain one.
std::optional<Finding> without_dma_buf(const Snapshot& snapshot) {
  std::optional<Finding> uncertain;
  for (const auto& obstacle :
       {turned_off(snapshot), old_driver(*snapshot.nvml), old_kernel(snapshot.kernel->release)}) {
    if (obstacle && obstacle->outcome == Outcome::fail) return obstacle;
    if (obstacle && !uncertain) uncertain = obstacle;
  }
  return uncertain;
}

// Below a foreign root there is no driver to ask. gpu.driver reports an unusable driver.
std::optional<Finding> without_driver(const Snapshot& snapshot) {
  const auto& nvml = snapshot.nvml;
  if (nvml.status == Status::absent) {
    return skipped(fmt::format(
        "no peer memory module is loaded, and NVML is not available to check dma-buf: {}",
        nvml.reason));
  }
  if (!nvml.ok()) {
    return unknown(kNode,
                   fmt::format("no peer memory module is loaded, and dma-buf is not known to "
                               "work: {}",
                               nvml.reason));
  }
  if (nvml->trouble.empty()) return std::nullopt;
  return skipped("NVML is not usable: see gpu.driver");
}

Findings judge_direct_rdma(const Snapshot& snapshot, const Profile& /*profile*/) {
  const auto& nvml = snapshot.nvml;
  if (nvml.ok() && nvml->confidential.value_or(false)) {
    return {skipped("confidential computing is on, which rules out GPUDirect RDMA")};
  }
  const auto& modules = snapshot.kernel->modules;
  if (!modules) return {not_known(kNode, "the list of kernel modules", modules)};
  for (const std::string_view name : {"nvidia_peermem", "nv_peer_mem"}) {
    if (std::ranges::count(*modules, name) > 0) return {passed(fmt::format("{} is loaded", name))};
  }
  if (auto finding = without_driver(snapshot)) return {*finding};
  auto obstacle = without_dma_buf(snapshot);
  if (!obstacle) {
    return {passed(fmt::format("dma-buf works: kernel {}, open driver {}",
                               *snapshot.kernel->release, snapshot.nvml->driver.value_or("")))};
  }
  obstacle->message.insert(
      0, obstacle->outcome == Outcome::unknown
             ? "nvidia_peermem is not loaded, and dma-buf is not known to work: "
             : "HCAs cannot reach GPU memory: nvidia_peermem is not loaded, and dma-buf is not "
               "usable: ");
  obstacle->seen_by = {{"host.modules", "*nvidia_peermem*"}, {"host.modules", "*nv_peer_mem*"}};
  return {*std::move(obstacle)};
}

std::optional<Finding> direct_rdma_not_applicable(const Snapshot& /*snapshot*/,
                                                  const Profile& profile) {
  return unless(gpu::expected(profile) && expects_hcas(profile) &&
                    profile.gpu->direct_rdma.expected.value_or(true),
                not_expected("GPUDirect RDMA"));
}

}  // namespace

constinit const Check gpu_p2p::check = gpu::check_of_gpus({
    .id = "gpu.p2p",
    .title = "GPUs that should reach each other do",
    .why =
        "Asks the driver for each pair of GPUs whether one can read the other's memory (peer "
        "access). Without it NCCL silently copies through host memory, which is slow. A GPU that "
        "reaches none of the others is reported once. If the same report finds broken links or a "
        "broken fabric, only gpu.nvlink_state, gpu.fabric or host.services reports the fault. A "
        "driver that never answers fails even if no peer access is expected. An answer that is "
        "missing, or one way only, is unknown.",
    .fix =
        "nvidia-smi topo -p2p r prints the matrix. With NVSwitch, nvidia-fabricmanager of the "
        "driver's version must run before the first job; on PCIe, look at IOMMU and access control "
        "services (pci.acs). A driver setting: look for NVreg_RegistryDwords in /etc/modprobe.d. "
        "Then reboot.",
    .nvml_parts = {.pairs = true},
    .judge = judge_peer_access,
});

constinit const Check gpu_direct_rdma::check{
    .id = "gpu.direct_rdma",
    .title = "HCAs reach GPU memory (GPUDirect RDMA)",
    .why =
        "If GPUs and InfiniBand are both expected, data should go from GPU to network directly: "
        "copies through host memory are several times slower. Either of two mechanisms is enough: "
        "the module nvidia_peermem (nv_peer_mem with old drivers), or dma-buf, which needs Linux "
        "5.12, driver 515 and the open kernel module. On an idle node the module has no user, "
        "which is normal. If host.modules reports the missing module, this check does not.",
    .fix =
        "modprobe nvidia_peermem, and list it in /etc/modules-load.d. If that fails with \"Invalid "
        "argument\", the module was built without the current RDMA stack: install the driver after "
        "DOCA or MLNX_OFED, or change to the open kernel module, which uses dma-buf.",
    .needs = Probe::kernel,
    .looks_at = Probe::nvml | Probe::environment,
    .not_applicable = direct_rdma_not_applicable,
    .judge = judge_direct_rdma,
};

}  // namespace muster::checks
