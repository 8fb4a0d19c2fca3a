// SPDX-License-Identifier: Apache-2.0
#include "tests/lib/probes/host_tree.hpp"

#include <fmt/format.h>

namespace muster {
namespace {

void write_interface(const TempDir& tree, std::string_view name, std::string_view type) {
  write_files(tree, fmt::format("sys/class/net/{}", name),
              {{"type", type},
               {"operstate", "up\n"},
               {"carrier", "1\n"},
               {"speed", "100000\n"},
               {"mtu", "1500\n"},
               {"carrier_down_count", "2\n"}});
}

}  // namespace

void write_files(const TempDir& tree, std::string_view folder,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> files) {
  for (const auto& [name, text] : files) tree.write(fmt::format("{}/{}", folder, name), text);
}

void write_identity(const TempDir& tree) {
  tree.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor lm\n");
  tree.write("proc/sys/kernel/hostname", "gpu-0007\n");
  tree.write("proc/sys/kernel/random/boot_id", "1f080c0c-7496-44a5-b0ed-7dfff1bfa5b0\n");
  tree.write("proc/uptime", "12345.67 98765.43\n");
  tree.write("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
  tree.write("sys/class/dmi/id/product_name", "Virtual Machine\n");
  tree.write("sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n");
  tree.write("var/lib/hyperv/.kvp_pool_3",
             kvp_record("HostName", "BLZ01")
                 .append(kvp_record("PhysicalHostNameFullyQualified", "blz01.example.net")));
}

void write_cpus(const TempDir& tree) {
  tree.write("proc/cpuinfo",
             "processor\t: 0\nmodel name\t: AMD EPYC 7V12\nflags\t\t: fpu hypervisor lm\n\n"
             "processor\t: 1\nmodel name\t: another\n");
  for (const std::string_view list : {"online", "present"}) {
    tree.write(fmt::format("sys/devices/system/cpu/{}", list), "0-7\n");
  }
  for (unsigned cpu = 0; cpu < 8; ++cpu) {
    const auto folder = fmt::format("sys/devices/system/cpu/cpu{}/topology", cpu);
    tree.write(fmt::format("{}/physical_package_id", folder), fmt::format("{}\n", cpu / 4));
    tree.write(fmt::format("{}/die_id", folder), "0\n");
    tree.write(fmt::format("{}/core_id", folder), fmt::format("{}\n", cpu / 2 % 2));
  }
  tree.write("sys/devices/system/node/online", "0-1\n");
  for (unsigned node = 0; node < 2; ++node) {
    const auto folder = fmt::format("sys/devices/system/node/node{}", node);
    tree.write(fmt::format("{}/cpulist", folder), node == 0 ? "0-3\n" : "4-7\n");
    tree.write(fmt::format("{}/meminfo", folder),
               fmt::format("Node {0} MemTotal:       1000 kB\nNode {0} MemFree:    10 kB\n"
                           "Node {0} FilePages:      500 kB\n",
                           node));
  }
}

void write_memory(const TempDir& tree) {
  tree.write(
      "proc/meminfo",
      "MemTotal:           2000 kB\nMemFree:             100 kB\nMemAvailable:       1500 kB\n"
      "SwapTotal:             0 kB\nSwapFree:              0 kB\nHugePages_Total:       0\n");
  write_files(tree, "sys/kernel/mm/hugepages/hugepages-2048kB",
              {{"nr_hugepages", "16\n"}, {"free_hugepages", "12\n"}});
}

void write_disks(const TempDir& tree) {
  const std::string_view device = "sys/devices/pci0001:00/0001:00:00.0";
  write_files(tree, device,
              {{"vendor", "0x1414\n"},
               {"current_link_speed", "32.0 GT/s PCIe\n"},
               {"current_link_width", "4\n"},
               {"nvme/nvme0/state", "live\n"},
               {"nvme/nvme0/model", "Microsoft NVMe Direct Disk v2     \n"},
               {"nvme/nvme0/firmware_rev", "NVMDV002\n"},
               {"nvme/nvme0/transport", "pcie\n"},
               {"nvme/nvme0/nvme0n1/size", "2000\n"},
               {"nvme/nvme0/nvme0n1/ro", "0\n"}});
  tree.link(fmt::format("{}/nvme/nvme0/device", device), "../..");
  tree.link("sys/class/nvme/nvme0", "../../devices/pci0001:00/0001:00:00.0/nvme/nvme0");
  tree.link("sys/block/nvme0n1", "../devices/pci0001:00/0001:00:00.0/nvme/nvme0/nvme0n1");
  write_files(tree, "sys/block/md0/md",
              {{"level", "raid1\n"},
               {"array_state", "clean\n"},
               {"raid_disks", "2\n"},
               {"degraded", "0\n"}});
}

void write_services(const TempDir& tree) {
  write_files(tree, "sys/fs/cgroup/system.slice",
              {{"cgroup.procs", ""},
               {"slurmd.service/cgroup.procs", "812\n"},
               {"containerd.service/cgroup.procs", ""},
               {"containerd.service/memory.current", "4096\n"},
               {"containerd.service/engine/cgroup.procs", "900\n901\n"},
               {"stopped.service/cgroup.procs", ""}});
  tree.link("run/systemd/units/invocation:nvidia-setup.service",
            "86c2d6d8f0d24b0e8b2b8a1f9c6a7d10");
}

void write_network(const TempDir& tree) {
  write_interface(tree, "eth0", "1\n");
  write_interface(tree, "ib0", "32\n");
  tree.write("sys/class/net/lo/type", "772\n");
  tree.write("sys/class/net/bonding_masters", "\n");
  tree.write("sys/devices/pci0101:00/0101:00:00.0/infiniband/mlx5_ib0/node_type", "1: CA\n");
  tree.link("sys/class/net/ib0/device", "../../../devices/pci0101:00/0101:00:00.0");
}

std::string kvp_record(std::string_view key, std::string_view value) {
  std::string record(512 + 2048, '\0');
  record.replace(0, key.size(), key);
  record.replace(512, value.size(), value);
  return record;
}

std::string stat_line(unsigned pid, std::string_view name, char state, unsigned start_ticks) {
  return fmt::format(
      "{} ({}) {} 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 {} 170000 3000 "
      "18446744073709551615 0 0 0 0\n",
      pid, name, state, start_ticks);
}

void write_mounts(const TempDir& tree) {
  tree.write("proc/mounts",
             "/dev/sda1 / ext4 rw,relatime 0 0\nproc /proc proc rw 0 0\n"
             "server:/data /data nfs4 ro,hard 0 0\n");
}

void write_processes(const TempDir& tree) {
  tree.write("proc/loadavg", "0.20 0.18 0.12 1/80 11206\n");
  tree.write("proc/1/stat", stat_line(1, "systemd", 'S', 10));
  tree.write("proc/42/stat", stat_line(42, "nvidia-smi", 'D', 4200));
  tree.write("proc/42/status", "voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n");
}

}  // namespace muster
