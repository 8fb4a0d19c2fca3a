// SPDX-License-Identifier: Apache-2.0
// Kernel and firmware facts: name and boot, command line, sysctl, modules, clock, EDAC, the kernel
// log, and DMI.
#include <fmt/format.h>

#include <algorithm>

#include "tests/nodes/parts.hpp"

namespace muster::nodes {
namespace {

void add_identity(const SystemDescription& system, Tree& tree) {
  attribute(tree, "proc/sys/kernel", "hostname", system.hostname);
  attribute(tree, "proc/sys/kernel", "osrelease", system.release);
  attribute(tree, "proc/sys/kernel/random", "boot_id", system.boot_id);
  tree.file("proc/uptime", fmt::format("{:.2f} {:.2f}\n", system.uptime_s, system.uptime_s * 90));
  tree.file("proc/version", fmt::format("Linux version {} (buildd@lcy02)\n", system.release));
  attribute(tree, "proc", "cmdline", system.command_line);
  constexpr std::string_view kDmi = "sys/devices/virtual/dmi/id";
  attribute(tree, kDmi, "sys_vendor", system.dmi_vendor);
  attribute(tree, kDmi, "product_name", system.dmi_product);
  attribute(tree, kDmi, "board_name", system.dmi_board);
  attribute(tree, kDmi, "chassis_asset_tag", system.chassis_asset_tag);
  attribute(tree, kDmi, "bios_version", "Hyper-V UEFI Release v4.1");
  tree.link("sys/class/dmi/id", kDmi);
}

// Records of a 512-byte key and a 2048-byte value, padded with zeros.
std::string key_value_pool(const SystemDescription& system) {
  const std::vector<std::pair<std::string, std::string>> pairs{
      {"HostName", system.physical_host},
      {"HostingSystemEditionId", "168"},
      {"PhysicalHostName", system.physical_host},
      {"PhysicalHostNameFullyQualified", system.physical_host},
      {"VirtualMachineName", "1f4b6f1c-2d7a-4f2f-9f2c-0a0b0c0d0e0f"}};
  constexpr std::size_t kKey = 512;
  constexpr std::size_t kValue = 2048;
  std::string pool;
  for (const auto& [key, value] : pairs) {
    pool.append(key).append(kKey - key.size(), '\0');
    pool.append(value).append(kValue - value.size(), '\0');
  }
  return pool;
}

void add_sysctls(const SystemDescription& system, Tree& tree) {
  for (const auto& [key, value] : system.sysctls) {
    std::string path = key;
    std::ranges::replace(path, '.', '/');
    tree.file(fmt::format("proc/sys/{}", path), fmt::format("{}\n", value));
  }
}

void add_modules(const NodeDescription& node, Tree& tree) {
  std::string loaded;
  for (const auto& module : node.system.modules) {
    const auto folder = fmt::format("sys/module/{}", module);
    attribute(tree, folder, "initstate", "live");
    attribute(tree, folder, "refcnt", "0");
    if (module == "nvidia") attribute(tree, folder, "version", node.nvml.driver);
    loaded.append(fmt::format("{} 16384 0 - Live 0x0000000000000000\n", module));
  }
  // Built in: a folder without initstate, and no line in proc/modules.
  attribute(tree, "sys/module/printk/parameters", "time", "Y");
  tree.file("proc/modules", std::move(loaded));
}

void add_edac(const NodeDescription& node, Tree& tree) {
  for (std::size_t i = 0; i < node.edac.size(); ++i) {
    const auto folder = fmt::format("sys/devices/system/edac/mc/mc{}", i);
    attribute(tree, folder, "mc_name", "Intel_10nm");
    attribute(tree, folder, "ce_count", fmt::format("{}", node.edac[i].corrected));
    attribute(tree, folder, "ue_count", fmt::format("{}", node.edac[i].uncorrected));
    attribute(tree, folder, "ce_noinfo_count", "0");
    attribute(tree, folder, "ue_noinfo_count", "0");
    attribute(tree, folder, "seconds_since_reset", "86000");
  }
}

std::string kernel_log(const NodeDescription& node) {
  std::string text;
  for (std::size_t i = 0; i < node.kernel_log.size(); ++i) {
    const auto& record = node.kernel_log[i];
    text.append(fmt::format("{},{},{},-;{}\n", record.facility * 8 + record.level, i,
                            record.time_us, record.text));
  }
  return text;
}

}  // namespace

void render_kernel(const NodeDescription& node, Tree& tree) {
  const auto& system = node.system;
  add_identity(system, tree);
  if (!system.physical_host.empty()) {
    tree.file("var/lib/hyperv/.kvp_pool_3", key_value_pool(system));
  }
  add_sysctls(system, tree);
  add_modules(node, tree);
  attribute(tree, "sys/kernel/mm/transparent_hugepage", "enabled", system.transparent_hugepage);
  constexpr std::string_view kClock = "sys/devices/system/clocksource/clocksource0";
  attribute(tree, kClock, "current_clocksource", system.clocksource);
  attribute(tree, kClock, "available_clocksource", fmt::format("{} acpi_pm", system.clocksource));
  add_edac(node, tree);
  tree.file("dev/kmsg", kernel_log(node));
}

}  // namespace muster::nodes
