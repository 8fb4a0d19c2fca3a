// SPDX-License-Identifier: Apache-2.0
// Kernel and firmware facts, processes and services, the load, and the environment of jobs: mounts,
// NCCL's configuration and topology file, the NVIDIA driver's folder in proc, programs, and the
// site's muster.yaml.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tests/nodes/parts.hpp"
#include "tests/nodes/render.hpp"

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
    attribute(tree, folder, "ce_count", node.edac[i].corrected);
    attribute(tree, folder, "ue_count", node.edac[i].uncorrected);
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

std::string stat_line(const ProcessDescription& process) {
  return fmt::format(
      "{} ({}) {} {} {} {} 0 -1 4194560 1204 0 0 0 12 7 0 0 20 0 1 0 {} 180224000 2048 "
      "18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
      process.pid, process.name, process.state, process.parent, process.pid, process.pid,
      process.start_ticks);
}

std::string state_word(char state) {
  static const std::map<char, std::string> words{
      {'R', "R (running)"}, {'S', "S (sleeping)"}, {'D', "D (disk sleep)"}, {'Z', "Z (zombie)"}};
  const auto found = words.find(state);
  return found == words.end() ? fmt::format("{} (unknown)", state) : found->second;
}

std::string limits(const ProcessDescription& process) {
  const auto line = [](std::string_view name, std::string_view value, std::string_view unit) {
    return fmt::format("{:<25} {:<20} {:<20} {:<10}\n", name, value, value, unit);
  };
  std::string text =
      fmt::format("{:<25} {:<20} {:<20} {:<10}\n", "Limit", "Soft Limit", "Hard Limit", "Units");
  text.append(line("Max cpu time", "unlimited", "seconds"));
  text.append(line("Max file size", "unlimited", "bytes"));
  text.append(line("Max stack size", "unlimited", "bytes"));
  text.append(line("Max processes", "7412000", "processes"));
  text.append(line("Max open files", process.open_files, "files"));
  text.append(line("Max locked memory", process.memlock, "bytes"));
  text.append(line("Max address space", "unlimited", "bytes"));
  return text;
}

void add_process(const ProcessDescription& process, Tree& tree) {
  const auto folder = fmt::format("proc/{}", process.pid);
  tree.file(fmt::format("{}/stat", folder), stat_line(process));
  attribute(tree, folder, "comm", process.name);
  tree.file(fmt::format("{}/status", folder),
            fmt::format("Name:\t{}\nUmask:\t0022\nState:\t{}\nTgid:\t{}\nPid:\t{}\nPPid:\t{}\n"
                        "Uid:\t{}\t{}\t{}\t{}\nGid:\t0\t0\t0\t0\nThreads:\t1\n"
                        "voluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t7\n",
                        process.name, state_word(process.state), process.pid, process.pid,
                        process.parent, process.user, process.user, process.user, process.user,
                        process.voluntary_switches));
  if (!process.waits_in.empty()) tree.file(fmt::format("{}/wchan", folder), process.waits_in);
  tree.file(fmt::format("{}/limits", folder), limits(process));
  tree.file(fmt::format("{}/cmdline", folder), std::string(process.name).append(1, '\0'));
  attribute(tree, folder, "cgroup",
            process.unit.empty() ? std::string("0::/")
                                 : fmt::format("0::/system.slice/{}", process.unit));
}

void add_services(const NodeDescription& node, Tree& tree) {
  std::map<std::string, std::string> units;
  for (const auto& process : node.processes) {
    if (!process.unit.empty()) units[process.unit].append(fmt::format("{}\n", process.pid));
  }
  for (const auto& [unit, pids] : units) {
    const auto folder = fmt::format("sys/fs/cgroup/system.slice/{}", unit);
    tree.file(fmt::format("{}/cgroup.procs", folder), pids);
    attribute(tree, folder, "cgroup.events", "populated 1\nfrozen 0");
  }
  for (const auto& unit : node.oneshot_services) units.emplace(unit, "");
  tree.directory("run/systemd/system");
  tree.directory("sys/fs/cgroup/system.slice");
  tree.file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc\n");
  // systemd keeps the invocation of every active unit as a dangling link.
  for (const auto& [unit, pids] : units) {
    tree.link(fmt::format("run/systemd/units/invocation:{}", unit),
              fmt::format("run/systemd/units/{:032x}", std::hash<std::string>{}(unit)));
  }
}

void add_mounts(const NodeDescription& node, Tree& tree) {
  std::string text;
  for (const auto& mount : node.mounts) {
    text.append(
        fmt::format("{} {} {} {} 0 0\n", mount.source, mount.point, mount.type, mount.options));
    const std::string point = mount.point.substr(1);
    // A mount point without other contents is an empty folder.
    if (!point.empty() && point != "proc" && point != "sys" && point != "dev" && point != "run" &&
        point != "sys/fs/cgroup") {
      tree.directory(point);
    }
  }
  tree.file("proc/mounts", std::move(text));
}

std::string pci_element(const PciDescription& pci) {
  return fmt::format(
      "      <pci busid=\"{}\" class=\"{:#08x}\" link_speed=\"{:.1f} GT/s PCIe\" "
      "link_width=\"16\"/>\n",
      pci.address, pci.class_code, pci.max_speed_gts);
}

// The i-th GPU and the i-th HCA share a switch that only exists in the file.
std::string nccl_topology(const NodeDescription& node) {
  std::string text = "<system version=\"1\">\n";
  unsigned invented = 0;
  for (int numa = 0; numa < static_cast<int>(node.numa.size()); ++numa) {
    text.append(
        fmt::format("  <cpu numaid=\"{}\" affinity=\"{}\" arch=\"x86_64\" vendor=\"{}\" "
                    "familyid=\"{}\" modelid=\"{}\">\n",
                    numa, cpu_mask(online_cpus_of(node, numa), node.cpus.size()),
                    node.cpu_model.vendor, node.cpu_model.family, node.cpu_model.model));
    unsigned on_switch = 0;
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
      if (node.gpus[i].pci.numa != numa) continue;
      if (on_switch == 0) {
        text.append(
            fmt::format("    <pci busid=\"ffff:ff:{:02x}.0\" class=\"0x060400\" "
                        "link_speed=\"{:.1f} GT/s PCIe\" link_width=\"16\" vendor=\"0x1000\">\n",
                        ++invented, node.gpus[i].pci.max_speed_gts));
      }
      text.append(pci_element(node.gpus[i].pci));
      if (i < node.hcas.size()) text.append(pci_element(node.hcas[i].pci));
      on_switch = (on_switch + 1) % node.nccl_topology.per_switch;
      if (on_switch == 0) text.append("    </pci>\n");
    }
    text.append("  </cpu>\n");
  }
  return text.append("</system>\n");
}

void add_nccl(const NodeDescription& node, Tree& tree) {
  if (!node.nccl_conf.empty()) {
    std::string text;
    for (const auto& [name, value] : node.nccl_conf)
      text.append(fmt::format("{}={}\n", name, value));
    tree.file("etc/nccl.conf", std::move(text));
  }
  const auto& topology = node.nccl_topology;
  if (topology.path.empty()) return;
  tree.file(topology.target, nccl_topology(node));
  tree.link(topology.path, topology.target);
}

void add_gpu_driver(const NodeDescription& node, Tree& tree) {
  if (node.gpus.empty()) return;
  tree.file("proc/driver/nvidia/version",
            fmt::format("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release "
                        "Build\nGCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n",
                        node.nvml.driver));
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const auto& gpu = node.gpus[i];
    tree.file(fmt::format("proc/driver/nvidia/gpus/{}/information", gpu.pci.address),
              fmt::format("Model: \t\t {}\nIRQ:   \t\t 0\nGPU UUID: \t {}\n"
                          "Video BIOS: \t {}\nBus Type: \t PCIe\nBus Location: \t {}\n"
                          "Device Minor: \t {}\nGPU Excluded:\t No\n",
                          gpu.model, gpu.uuid, gpu.facts.firmware.vbios.value_or("??.??.??.??.??"),
                          gpu.pci.address, i));
  }
}

}  // namespace

Tree render(const NodeDescription& node) {
  Tree tree;
  render_processors(node, tree);
  render_memory(node, tree);
  render_pci(node, tree);
  render_amd(node, tree);
  render_infiniband(node, tree);
  render_network(node, tree);
  render_disks(node, tree);
  render_processes(node, tree);
  render_kernel(node, tree);
  render_environment(node, tree);
  render_nvml(node, tree);
  return tree;
}

std::string cpu_list(const std::vector<unsigned>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text.push_back(',');
    text.append(last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]));
    i = last + 1;
  }
  return text;
}

std::string cpu_mask(const std::vector<unsigned>& cpus, std::size_t possible) {
  std::vector<std::uint32_t> words((possible + 31) / 32, 0);
  for (const unsigned cpu : cpus) words.at(cpu / 32) |= 1U << (cpu % 32);
  std::string text;
  std::ranges::reverse(words);
  for (const auto word : words) text.append(fmt::format("{}{:08x}", text.empty() ? "" : ",", word));
  return text;
}

std::vector<unsigned> online_cpus_of(const NodeDescription& node, int numa) {
  std::vector<unsigned> result;
  for (const auto& cpu : node.cpus) {
    if (cpu.online && (numa < 0 || cpu.numa == static_cast<unsigned>(numa)))
      result.push_back(cpu.id);
  }
  return result;
}

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

void render_processes(const NodeDescription& node, Tree& tree) {
  unsigned last = 0;
  for (const auto& process : node.processes) {
    add_process(process, tree);
    last = std::max(last, process.pid);
  }
  add_services(node, tree);
  tree.file("proc/loadavg",
            fmt::format("{:.2f} {:.2f} {:.2f} {}/{} {}\n", node.load1, node.load5, node.load15,
                        node.running, node.processes.size() * 4, last));
}

void render_environment(const NodeDescription& node, Tree& tree) {
  for (const char* folder : {"etc", "opt", "tmp", "usr/bin", "var/lib/muster"})
    tree.directory(folder);
  for (const auto& folder : node.directories) tree.directory(folder);
  add_mounts(node, tree);
  add_nccl(node, tree);
  add_gpu_driver(node, tree);
  for (const auto& program : node.programs) tree.program(program);
  if (!node.site.empty()) tree.file("etc/muster/muster.yaml", node.site);
}

}  // namespace muster::nodes
