// SPDX-License-Identifier: Apache-2.0
#include "lib/node/container.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace muster {
namespace {

template <class T>
void hide(Section<T>& section) {
  if (section.asked()) section = {.status = Status::error, .reason = std::string(kInContainer)};
}

template <class T>
void hide(Fact<T>& fact) {
  fact = Fact<T>::unreadable(std::string(kInContainer));
}

std::size_t on_bus(const Snapshot& snapshot, PciKind kind, std::string_view driver) {
  const auto devices = devices_of(snapshot, kind);
  return static_cast<std::size_t>(std::ranges::count_if(
      devices, [&](const PciDevice* each) { return each->driver.starts_with(driver); }));
}

// The device plug-ins of container runtimes pass on some of the devices, but sysfs lists all.
void hide_devices(Snapshot& snapshot) {
  const auto gpus = on_bus(snapshot, PciKind::gpu, "nvidia");
  const auto& nvml = snapshot.nvml;
  const bool all_gpus = nvml.ok() && nvml->trouble.empty() && nvml->gpus.size() >= gpus;
  if (gpus > 0 && !all_gpus) hide(snapshot.nvml);
  const auto hcas = on_bus(snapshot, PciKind::hca, "mlx");
  if (snapshot.infiniband->hcas.size() < hcas) hide(snapshot.infiniband);
}

void hide_processes(Snapshot& snapshot) {
  hide(snapshot.processes->uninterruptible);
  hide(snapshot.processes->zombies);
  hide(snapshot.processes->fuse);
  for (auto& gpu : snapshot.nvml->gpus) {
    hide(gpu.processes);
    hide(gpu.graphics);
  }
}

void hide_limits(Limits& limits) {
  hide(limits.memlock_bytes);
  hide(limits.open_files);
}

void hide_sysctls(Kernel& kernel, std::initializer_list<std::string_view> prefixes) {
  for (auto& [key, value] : kernel.sysctl) {
    const auto begins = [&name = key](std::string_view prefix) { return name.starts_with(prefix); };
    if (std::ranges::any_of(prefixes, begins)) hide(value);
  }
}

}  // namespace

void hide_container(Snapshot& snapshot) {
  const auto& container = snapshot.identity->container;
  if (!container) return;
  const auto names = container->namespaces;
  const auto has_own = [&](std::string_view name) { return std::ranges::count(names, name) > 0; };
  if (has_own("mnt")) {
    hide(snapshot.mounts);
    hide(snapshot.services);
    hide(snapshot.environment);
    hide(snapshot.verbs);
    if (!snapshot.kernel_log.ok()) hide(snapshot.kernel_log);  // /dev/kmsg may be passed on
    hide_devices(snapshot);
  }
  if (has_own("net")) {
    hide(snapshot.network);
    hide_sysctls(snapshot.kernel.facts, {"net."});
  }
  if (has_own("pid")) hide_processes(snapshot);
  auto& limits = snapshot.kernel->limits;
  if (has_own("pid") || limits.process == kOwnLimits) hide_limits(limits);
  if (has_own("ipc")) {
    hide_sysctls(snapshot.kernel.facts, {"kernel.sem", "kernel.msg", "kernel.shm", "fs.mqueue."});
  }
}

}  // namespace muster
