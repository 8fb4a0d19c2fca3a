// SPDX-License-Identifier: Apache-2.0
// gpu.direct_rdma: HCAs can reach the memory of GPUs, by nvidia_peermem or by dma-buf.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_direct_rdma {
namespace {

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

// A certain reason why dma-buf cannot be used; `unknown` is an uncertain one.
Finding unusable(std::string why) { return failed(kNode, std::move(why), Remedy::fix_config); }

std::optional<Finding> old_kernel(const Fact<std::string>& release) {
  constexpr std::pair<std::uint64_t, std::uint64_t> kSince{5, 12};
  if (!release) return not_known(kNode, "the kernel's version", release);
  const auto version = version_of(*release);
  if (!version) return unknown(kNode, fmt::format("kernel {} has no version to read", *release));
  if (*version >= kSince) return std::nullopt;
  // Enterprise kernels carry parts of newer ones under an old number.
  const bool may_be_mended = release->find(".el") != std::string::npos;
  const auto why = fmt::format("kernel {} is older than 5.12", *release);
  return may_be_mended ? unknown(kNode, fmt::format("{}, and its maker may have added it", why))
                       : unusable(why);
}

std::optional<Finding> old_driver(const Nvml& nvml) {
  constexpr std::pair<std::uint64_t, std::uint64_t> kSince{515, 0};
  if (!nvml.open_module) {
    return not_known(kNode, "whether the open kernel module is loaded", nvml.open_module);
  }
  if (!*nvml.open_module) return unusable("the driver's kernel module is the closed one");
  const auto& driver = nvml.driver ? nvml.driver : nvml.module;
  const auto version = driver ? version_of(*driver) : std::nullopt;
  if (!version) return unknown(kNode, "the driver's version is not known");
  if (*version >= kSince) return std::nullopt;
  return unusable(fmt::format("driver {} is older than 515", *driver));
}

// The strongest setting comes last.
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

// What keeps dma-buf from being used; a certain reason before an uncertain one.
std::optional<Finding> without_dma_buf(const Snapshot& snapshot) {
  std::optional<Finding> uncertain;
  for (const auto& obstacle :
       {turned_off(snapshot), old_driver(*snapshot.nvml), old_kernel(snapshot.kernel->release)}) {
    if (obstacle && obstacle->outcome == Outcome::fail) return obstacle;
    if (obstacle && !uncertain) uncertain = obstacle;
  }
  return uncertain;
}

std::optional<std::string> peer_module(const std::vector<std::string>& loaded) {
  for (const std::string_view name : {"nvidia_peermem", "nv_peer_mem"}) {
    if (std::ranges::count(loaded, name) > 0) return std::string(name);
  }
  return std::nullopt;
}

// Below a foreign root nobody can be asked for the driver; a driver that cannot be used is
// gpu.driver's finding.
std::optional<Finding> without_driver(const Snapshot& snapshot) {
  const auto& nvml = snapshot.nvml;
  if (nvml.status == Status::absent) {
    return skipped(fmt::format(
        "no peer memory module is loaded, and no NVML to ask for dma-buf: {}", nvml.reason));
  }
  if (!nvml.ok()) {
    return unknown(kNode, fmt::format("no peer memory module is loaded, and whether dma-buf "
                                      "works is not known: {}",
                                      nvml.reason));
  }
  if (nvml->trouble.empty()) return std::nullopt;
  return skipped("NVML cannot be used: gpu.driver says why");
}

Findings judge(const Snapshot& snapshot, const Profile& /*profile*/) {
  const auto& nvml = snapshot.nvml;
  if (nvml.ok() && nvml->confidential.value_or(false)) {
    return {skipped("with confidential computing no HCA reaches the memory of a GPU")};
  }
  const auto& modules = snapshot.kernel->modules;
  if (!modules) return {not_known(kNode, "the list of kernel modules", modules)};
  if (const auto module = peer_module(*modules)) {
    return {passed(fmt::format("{} is loaded", *module))};
  }
  if (auto finding = without_driver(snapshot)) return {*finding};
  auto obstacle = without_dma_buf(snapshot);
  if (!obstacle) {
    return {passed(fmt::format("by dma-buf: kernel {}, open driver {}", *snapshot.kernel->release,
                               snapshot.nvml->driver.value_or("")))};
  }
  obstacle->message.insert(
      0, obstacle->outcome == Outcome::unknown
             ? "nvidia_peermem is not loaded, and whether dma-buf takes its place is not known: "
             : "HCAs do not reach the memory of GPUs: nvidia_peermem is not loaded, and dma-buf "
               "cannot take its place: ");
  // The module by itself.
  obstacle->seen_by = {{"host.modules", "*nvidia_peermem*"}, {"host.modules", "*nv_peer_mem*"}};
  return {*std::move(obstacle)};
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  const bool both = gpu::expected(profile) && expects_hcas(profile);
  if (both && profile.gpu->direct_rdma.expected.value_or(true)) return std::nullopt;
  return not_expected("GPUDirect RDMA");
}

}  // namespace

constinit const Check check{
    .id = "gpu.direct_rdma",
    .title = "HCAs reach the memory of GPUs (GPUDirect RDMA)",
    .why =
        "Where GPUs and InfiniBand are both expected, data should go from GPU to network without a "
        "stop in host memory, which leaves a fraction of the speed. Two ways lead there, and one "
        "is enough: the module nvidia_peermem (nv_peer_mem with old drivers), or dma-buf, which "
        "needs Linux 5.12, driver 515 and the open flavour of the driver's kernel module. That the "
        "module has no user while the node is idle is as it should be. Where host.modules finds "
        "the module missing as well, the finding is left to it.",
    .fix =
        "modprobe nvidia_peermem, and list it in /etc/modules-load.d. If that fails with \"Invalid "
        "argument\", the module was built without the RDMA stack in force: install the driver "
        "after DOCA or MLNX_OFED, or change to the open kernel module, which uses dma-buf.",
    .needs = Probe::kernel,
    .looks_at = Probe::nvml | Probe::environment,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::gpu_direct_rdma
