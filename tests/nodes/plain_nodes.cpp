// SPDX-License-Identifier: Apache-2.0
// Nodes without a profile: a bare-metal GPU server with visible PCI switches and error counters,
// and a laptop, from which nothing is expected.
#include <fmt/format.h>

#include "tests/nodes/node.hpp"

namespace muster::nodes {
namespace {

constexpr unsigned kNvidiaId = 0x10de;
constexpr unsigned kMellanoxId = 0x15b3;

// One switch per GPU: a root port, the switch's upstream port, and a downstream port for each of
// GPU, HCA and disk. Buses are numbered by index.
PciDescription behind_switch(unsigned index, unsigned port, unsigned vendor, unsigned device) {
  const unsigned root = index < 4 ? 0x00 : 0x80;
  const unsigned base = root + 0x10 + (index % 4) * 0x10;
  PciDescription pci{.address = fmt::format("0000:{:02x}:00.0", base + 2 + port),
                     .vendor = vendor,
                     .device = device,
                     .numa = index < 4 ? 0 : 1};
  pci.speed_gts = pci.max_speed_gts = 32;
  pci.width = pci.max_width = 16;
  pci.payload_bytes = pci.payload_max_bytes = 256;
  pci.aer = true;
  pci.bridges = {fmt::format("0000:{:02x}:{:02x}.0", root, index % 4 + 1),
                 fmt::format("0000:{:02x}:00.0", base),
                 fmt::format("0000:{:02x}:{:02x}.0", base + 1, port)};
  return pci;
}

void give_accelerators(NodeDescription& node) {
  for (unsigned i = 0; i < 8; ++i) {
    auto gpu = behind_switch(i, 0, kNvidiaId, 0x2330);
    gpu.class_code = 0x030200;
    gpu.driver = "nvidia";
    node.gpus.push_back({.pci = gpu,
                         .model = "NVIDIA H100 80GB HBM3",
                         .serial = fmt::format("16510240{:05}", i),
                         .uuid = fmt::format("GPU-0b6e3d1a-4c52-4f0e-8a57-{:012x}", 0x51ae0 + i),
                         .facts = h100_sxm5()});

    auto pci = behind_switch(i, 1, kMellanoxId, 0x1021);
    pci.class_code = 0x020700;
    pci.driver = "mlx5_core";
    node.hcas.push_back(
        {.pci = pci,
         .name = fmt::format("mlx5_{}", i),
         .guid = fmt::format("946d:ae03:0012:34{:02x}", i),
         .firmware = "28.43.1014",
         .board = "MT_0000000838",
         .lid = 0x40 + i,
         .pkeys = {0xffff},
         .netdev = {
             .name = fmt::format("ib{}", i), .type = 32, .speed_mbps = 400'000, .mtu = 4092}});

    auto disk = behind_switch(i, 2, 0x144d, 0xa80c);
    disk.class_code = 0x010802;
    disk.driver = "nvme";
    disk.width = disk.max_width = 4;
    node.nvme.push_back({.pci = disk, .sectors = 7'501'476'528});
  }
}

constexpr std::string_view kBareMetalSite = R"(# What this site expects of its GPU servers.
overrides:
  host:
    cpu: {sockets: 2, cores: 112, threads: 224, numa_nodes: 2, source: site}
    memory: {total: 2015 GiB, tolerance: 5%, source: site}
    nvme: {count: 8, source: site}
    services: {active: [slurmd.service], source: site}
    modules: {required: [nvidia_uvm, nvidia_peermem, mlx5_ib, ib_uverbs, ib_umad], source: site}
  pci:
    link: {gpu: {speed: 32 GT/s, width: 16}, hca: {speed: 32 GT/s, width: 16}, source: site}
  gpu:
    present: {count: 8, source: site}
  ib:
    present: {count: 8, name: "mlx5_*", source: site}
    rate: {expected: 400 Gb/s, width: 4X, speed: NDR, source: site}
    pkey: {require: default_full_member, source: site}
  topo:
    pairing:
      nearest: same_switch
      pairs: {"0000:12:00.0": "0000:13:00.0", "0000:22:00.0": "0000:23:00.0",
              "0000:92:00.0": "0000:93:00.0", "0000:a2:00.0": "0000:a3:00.0"}
      source: site
)";

}  // namespace

NodeDescription bare_metal_h100() {
  NodeDescription node{.name = "bare_metal_h100", .profile = "generic"};
  node.system = {.hostname = "dgx-12",
                 .dmi_vendor = "NVIDIA",
                 .dmi_product = "DGXH100",
                 .dmi_board = "DGXH100",
                 .chassis_asset_tag = "Not Specified",
                 .hypervisor = false,
                 .release = "5.15.0-1063-nvidia",
                 .command_line = "BOOT_IMAGE=/boot/vmlinuz root=/dev/md0 ro iommu=pt",
                 .clocksource = "tsc"};
  node.system.sysctls = {{"vm.zone_reclaim_mode", "0"}, {"kernel.numa_balancing", "0"}};
  node.system.modules = {"ib_core",        "ib_ipoib",   "ib_umad",  "ib_uverbs", "mlx5_core",
                         "mlx5_ib",        "rdma_cm",    "rdma_ucm", "nvidia",    "nvidia_uvm",
                         "nvidia_peermem", "i10nm_edac", "nvme",     "ext4"};
  node.cpu_model = {
      .name = "Intel(R) Xeon(R) Platinum 8480C", .cores_per_l3 = 56, .l3_kib = 107520};
  give_processors(node, 2, 56, 2, 2);
  give_memory(node, 2'113'401'000);
  give_accelerators(node);
  node.huge_pages = {{.size_kib = 2048}};
  node.netdevs = {{.name = "eno1", .speed_mbps = 10'000, .mac = "94:6d:ae:00:00:01"}};
  node.mounts = {{"proc", "/proc", "proc", "rw,nosuid,nodev,noexec,relatime"},
                 {"sysfs", "/sys", "sysfs", "rw,nosuid,nodev,noexec,relatime"},
                 {"/dev/nvme0n1p2", "/", "ext4", "rw,relatime"}};
  node.processes = {{.pid = 1, .parent = 0, .name = "systemd", .start_ticks = 2},
                    {.pid = 2, .parent = 0, .name = "kthreadd", .start_ticks = 2},
                    {.pid = 2210, .name = "slurmd", .unit = "slurmd.service"}};
  node.kernel_log = {{.level = 5, .text = "Linux version 5.15.0-1063-nvidia"}};
  node.edac = {{}, {}, {}, {}};
  node.site = kBareMetalSite;
  return node;
}

NodeDescription laptop() {
  NodeDescription node{.name = "laptop", .profile = "generic"};
  node.system = {.hostname = "meadow",
                 .uptime_s = 7200,
                 .dmi_vendor = "LENOVO",
                 .dmi_product = "21CBCTO1WW",
                 .dmi_board = "21CBCTO1WW",
                 .chassis_asset_tag = "No Asset Information",
                 .hypervisor = false,
                 .release = "6.1.0-32-amd64",
                 .command_line = "BOOT_IMAGE=/vmlinuz root=/dev/mapper/root ro quiet",
                 .clocksource = "tsc",
                 .transparent_hugepage = "[always] madvise never"};
  node.system.sysctls = {{"vm.zone_reclaim_mode", "0"}, {"kernel.numa_balancing", "0"}};
  node.system.modules = {"i915", "iwlwifi", "nvme", "ext4"};
  node.cpu_model = {.name = "12th Gen Intel(R) Core(TM) i7-1265U",
                    .model = 154,
                    .cores_per_l3 = 4,
                    .l3_kib = 12288};
  give_processors(node, 1, 4, 2, 1);
  give_memory(node, 16'081'000);
  node.available_kib = 9'500'000;
  node.swap_kib = 8'388'604;
  node.huge_pages = {{.size_kib = 2048}};
  node.netdevs = {{.name = "wlan0", .speed_mbps = 0, .mac = "3c:58:c2:00:00:01"}};
  PciDescription disk{.address = "0000:04:00.0",
                      .vendor = 0x15b7,
                      .device = 0x5030,
                      .class_code = 0x010802,
                      .driver = "nvme",
                      .numa = -1,
                      .local_to = 0,
                      .speed_gts = 16,
                      .max_speed_gts = 16,
                      .width = 4,
                      .max_width = 4};
  disk.bridges = {"0000:00:06.0"};
  node.nvme = {{.pci = disk, .sectors = 1'000'215'216}};
  node.mounts = {{"proc", "/proc", "proc", "rw,relatime"},
                 {"sysfs", "/sys", "sysfs", "rw,relatime"},
                 {"/dev/mapper/root", "/", "ext4", "rw,relatime"},
                 {"/dev/nvme0n1p1", "/boot/efi", "vfat", "rw,relatime"}};
  node.processes = {
      {.pid = 1, .parent = 0, .name = "systemd", .start_ticks = 2, .memlock = "8388608"},
      {.pid = 2, .parent = 0, .name = "kthreadd", .start_ticks = 2},
      {.pid = 900, .name = "NetworkManager", .unit = "NetworkManager.service"},
      {.pid = 1800, .parent = 900, .name = "firefox-esr", .start_ticks = 90'000}};
  node.kernel_log = {{.level = 5, .text = "Linux version 6.1.0-32-amd64"}};
  return node;
}

}  // namespace muster::nodes
