// SPDX-License-Identifier: Apache-2.0
// Azure virtual machines with GPUs: every device in a PCI domain of its own below Hyper-V's bus,
// InfiniBand functions named by sorted address, NVMe for scratch.
#include <fmt/format.h>

#include <array>
#include <string>

#include "tests/nodes/node.hpp"

namespace muster::nodes {
namespace {

constexpr unsigned kNvidia = 0x10de;
constexpr unsigned kMellanox = 0x15b3;
constexpr unsigned kMicrosoft = 0x1414;
constexpr unsigned kDisplay3d = 0x030200;
constexpr unsigned kInfiniband = 0x020700;
constexpr unsigned kEthernet = 0x020000;
constexpr unsigned kNvmExpress = 0x010802;

// The place of a PCI domain and the speed of its link.
struct Slot {
  unsigned domain = 0;
  int numa = 0;
};

struct Family {
  unsigned gpu_device = 0;
  std::string gpu_model;
  Gpu (*gpu_facts)(unsigned index) = nullptr;
  unsigned hca_device = 0;  // the virtual function
  std::string hca_rate;
  double gts = 0;
  std::array<Slot, 8> gpus{};
  unsigned hcas = 8;
  std::uint64_t nvme_sectors = 0;  // 0: no disks
  std::uint64_t ethernet_mbps = 0;
  unsigned ethernet_device = 0;  // 0: no accelerated networking
  bool switched = true;          // NVLinks lead to switches, and need their manager
};

std::string address_of(unsigned domain) { return fmt::format("{:04x}:00:00.0", domain); }

Family hopper() {
  return {
      .gpu_device = 0x2330,
      .gpu_model = "NVIDIA H100 80GB HBM3",
      .gpu_facts = [](unsigned) { return h100_sxm5(); },
      .hca_device = 0x101e,
      .hca_rate = "400 Gb/sec (4X NDR)",
      .gts = 32,
      .gpus = {{{0x1, 0}, {0x2, 0}, {0x3, 0}, {0x8, 0}, {0x9, 1}, {0xa, 1}, {0xb, 1}, {0xc, 1}}},
      .nvme_sectors = 7'501'476'528,
      .ethernet_mbps = 100'000,
      .ethernet_device = 0x101a};
}

Family ampere() {
  return {
      .gpu_device = 0x20b0,
      .gpu_model = "NVIDIA A100-SXM4-40GB",
      .gpu_facts = [](unsigned) { return a100_sxm4(40'960); },
      .hca_device = 0x101c,
      .hca_rate = "200 Gb/sec (4X HDR)",
      .gts = 16,
      .gpus = {{{0x1, 1}, {0x2, 1}, {0x3, 0}, {0x4, 0}, {0xb, 3}, {0xc, 3}, {0xd, 2}, {0xe, 2}}},
      .nvme_sectors = 1'875'385'008,
      .ethernet_mbps = 40'000,
      .ethernet_device = 0x1016};
}

// Six links to four other GPUs: these boards' hybrid cube mesh.
Gpu volta_facts(unsigned index) {
  using Row = std::array<unsigned, 6>;
  constexpr std::array kPeers{Row{1, 2, 3, 3, 4, 4}, Row{0, 2, 2, 3, 5, 5}, Row{0, 1, 1, 3, 3, 6},
                              Row{0, 0, 1, 2, 2, 7}, Row{0, 0, 5, 6, 7, 7}, Row{1, 1, 4, 6, 6, 7},
                              Row{2, 4, 5, 5, 7, 7}, Row{3, 4, 4, 5, 6, 6}};
  std::vector<std::string> peers;
  for (const unsigned peer : kPeers.at(index)) peers.push_back(address_of(peer + 1));
  return v100_sxm2(32'768, peers);
}

Family volta() {
  return {
      .gpu_device = 0x1db5,
      .gpu_model = "Tesla V100-SXM2-32GB",
      .gpu_facts = volta_facts,
      .hca_device = 0x1018,
      .hca_rate = "100 Gb/sec (4X EDR)",
      .gts = 8,
      .gpus = {{{0x1, 0}, {0x2, 0}, {0x3, 0}, {0x4, 0}, {0x5, 1}, {0x6, 1}, {0x7, 1}, {0x8, 1}}},
      .hcas = 1,
      .switched = false};
}

PciDescription virtual_function(Slot slot, unsigned vendor, unsigned device, unsigned class_code) {
  return {.address = address_of(slot.domain),
          .vendor = vendor,
          .device = device,
          .class_code = class_code,
          .numa = slot.numa,
          .vmbus_guid = fmt::format("47505500-{:04x}-0000-3130-444531334342", slot.domain)};
}

PciDescription with_link(PciDescription pci, double gts, unsigned width) {
  pci.speed_gts = pci.max_speed_gts = gts;
  pci.width = pci.max_width = width;
  return pci;
}

GpuDescription gpu(const Family& family, unsigned index) {
  auto pci =
      with_link(virtual_function(family.gpus.at(index), kNvidia, family.gpu_device, kDisplay3d),
                family.gts, 16);
  pci.driver = "nvidia";
  return {.pci = std::move(pci),
          .model = family.gpu_model,
          .serial = fmt::format("16509230{:05}", 12345 + index),
          .uuid = fmt::format("GPU-5f1c0e52-7a5c-4d6e-9f5b-{:012x}", 0x33ff00 + index),
          .facts = family.gpu_facts(index)};
}

AmdGpuDescription mi300x(Slot slot, unsigned index) {
  constexpr unsigned kAmd = 0x1002;
  constexpr unsigned kAccelerator = 0x120000;
  auto pci = with_link(virtual_function(slot, kAmd, 0x74b5, kAccelerator), 32, 16);
  pci.driver = "amdgpu";
  AmdGpu facts;
  facts.memory_bytes = std::uint64_t{196'592} << 20U;
  facts.memory_used_bytes = std::uint64_t{283} << 20U;
  facts.ras = std::map<std::string, RasCounts>{
      {"umc", {}}, {"gfx", {}}, {"sdma", {}}, {"mmhub", {}}, {"xgmi_wafl", {}}};
  facts.bad_pages = AmdBadPages{};
  facts.vbios = std::string("113-M3000100-102");
  facts.serial = fmt::format("5f1c0e527a5c{:04x}", 0x3300 + index);
  facts.compute_partition = std::string("SPX");
  facts.memory_partition = std::string("NPS1");
  facts.performance_level = std::string("auto");
  facts.hive = std::string("10467912390210465921");
  facts.utilisation = 0U;
  facts.replays = std::uint64_t{0};
  facts.temperatures =
      std::vector<AmdSensor>{{.name = "junction", .now_c = 41, .critical_c = 100.0},
                             {.name = "mem", .now_c = 37, .critical_c = 105.0}};
  facts.power_w = 138;
  facts.power_cap_w = 750;
  facts.power_cap_default_w = 750;
  return {.pci = std::move(pci), .facts = std::move(facts)};
}

HcaDescription hca(const std::string& rate, unsigned device, Slot slot, unsigned index,
                   double gts) {
  auto pci = with_link(virtual_function(slot, kMellanox, device, kInfiniband), gts, 16);
  pci.driver = "mlx5_core";
  return {.pci = std::move(pci),
          .name = fmt::format("mlx5_ib{}", index),
          .guid = fmt::format("0015:5dff:fe33:ff{:02x}", index),
          .rate = rate,
          .lid = 0x1a0 + index,
          .netdev = {.name = fmt::format("ib{}", index),
                     .type = 32,
                     .speed_mbps = std::stoull(rate) * 1000,
                     .mtu = 2044}};
}

// Accelerated networking: an RDMA device with an Ethernet link layer, which no check of ib.*
// counts.
HcaDescription accelerated_networking(unsigned device, std::uint64_t mbps) {
  auto pci = with_link(virtual_function({0xb036, 0}, kMellanox, device, kEthernet), 8, 8);
  pci.driver = "mlx5_core";
  return {.pci = std::move(pci),
          .name = "mlx5_an0",
          .guid = "000d:3aff:fe10:2030",
          .firmware = "14.30.1224",
          .board = "MSF0000000012",
          .link_layer = "Ethernet",
          .rate = mbps >= 100'000 ? "100 Gb/sec (4X EDR)" : "40 Gb/sec (4X QDR)",
          .lid = 0,
          .sm_lid = 0,
          .pkeys = {0xffff},
          .netdev = {.name = "enP45110s1", .speed_mbps = mbps, .mac = "00:0d:3a:10:20:30"}};
}

NvmeDescription scratch_disk(unsigned index, int numa, std::uint64_t sectors) {
  auto pci = virtual_function({0x6460 + index, numa}, kMicrosoft, 0x00a9, kNvmExpress);
  pci.driver = "nvme";
  return {.pci = std::move(pci), .sectors = sectors};
}

std::vector<ProcessDescription> system_processes() {
  return {
      {.pid = 1, .parent = 0, .name = "systemd", .start_ticks = 2},
      {.pid = 2, .parent = 0, .name = "kthreadd", .start_ticks = 2},
      {.pid = 731, .name = "systemd-journal", .unit = "systemd-journald.service"},
      {.pid = 804, .name = "systemd-network", .unit = "systemd-networkd.service"},
      {.pid = 912, .name = "chronyd", .unit = "chrony.service"},
      {.pid = 950, .name = "dbus-daemon", .unit = "dbus.service"},
      {.pid = 1011, .name = "sshd", .unit = "ssh.service"},
      {.pid = 1042, .name = "munged", .unit = "munge.service"},
      {.pid = 1234, .name = "slurmd", .unit = "slurmd.service"},
      {.pid = 1300, .name = "python3", .unit = "walinuxagent.service"},
  };
}

// Level, facility, time and text of each line.
std::vector<KernelRecordDescription> boot_log(const std::string& cpu) {
  return {
      {5, 0, 0, "Linux version 5.15.0-1073-azure (buildd@lcy02) #82-Ubuntu SMP"},
      {6, 0, 0, "Command line: BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro"},
      {6, 0, 104, "Hypervisor detected: Microsoft Hyper-V"},
      {6, 0, 120'400, fmt::format("smpboot: CPU0: {}", cpu)},
      {6, 0, 3'120'400, "hv_vmbus: Vmbus version:5.2"},
      {6, 0, 9'800'000, "EXT4-fs (sda1): mounted filesystem with ordered data mode."},
      {6, 0, 14'000'000,
       "mlx5_core 0101:00:00.0: firmware version: 28.39.3560\n SUBSYSTEM=pci\n "
       "DEVICE=+pci:0101:00:00.0"},
      {6, 3, 19'000'000, "systemd[1]: Started Slurm node daemon."},
  };
}

NodeDescription azure_machine(const std::string& name) {
  NodeDescription node{.name = name, .profile = name};
  node.system = {.hostname = "gpu-0007",
                 .dmi_vendor = "Microsoft Corporation",
                 .dmi_product = "Virtual Machine",
                 .chassis_asset_tag = "7783-7084-3265-9085-8269-3286-77",
                 .physical_host = "BN4PHX000A0B07"};
  node.system.sysctls = {{"vm.zone_reclaim_mode", "0"},
                         {"vm.swappiness", "10"},
                         {"vm.max_map_count", "65530"},
                         {"kernel.numa_balancing", "0"},
                         {"net.core.rmem_max", "212992"}};
  node.system.modules = {"ib_core", "ib_ipoib", "ib_umad",  "ib_uverbs", "mlx5_core",  "mlx5_ib",
                         "rdma_cm", "rdma_ucm", "hv_vmbus", "hv_netvsc", "hv_storvsc", "pci_hyperv",
                         "nvme",    "ext4",     "xfs",      "overlay"};
  node.huge_pages = {{.size_kib = 2048}, {.size_kib = 1048576}};
  node.netdevs = {{.name = "eth0", .speed_mbps = 100'000, .mac = "00:0d:3a:10:20:30"}};
  node.mounts = {{"proc", "/proc", "proc", "rw,nosuid,nodev,noexec,relatime"},
                 {"sysfs", "/sys", "sysfs", "rw,nosuid,nodev,noexec,relatime"},
                 {"udev", "/dev", "devtmpfs", "rw,nosuid,relatime,size=4k,mode=755"},
                 {"cgroup2", "/sys/fs/cgroup", "cgroup2", "rw,nosuid,nodev,noexec,relatime"},
                 {"tmpfs", "/run", "tmpfs", "rw,nosuid,nodev,size=4k,mode=755"},
                 {"/dev/sda1", "/", "ext4", "rw,relatime,discard"},
                 {"/dev/md0", "/mnt/nvme", "xfs", "rw,relatime"},
                 {"10.0.0.4:/shared", "/shared", "nfs4", "rw,relatime,vers=4.1,hard"}};
  node.processes = system_processes();
  node.oneshot_services = {"systemd-sysctl.service", "cloud-init.service"};
  node.directories = {"var/lib/docker", "var/lib/enroot"};
  return node;
}

void give_gpus(NodeDescription& node, const Family& family) {
  for (unsigned i = 0; i < family.gpus.size(); ++i) {
    node.gpus.push_back(gpu(family, i));
    if (i < family.hcas) {
      node.hcas.push_back(hca(family.hca_rate, family.hca_device,
                              {0x101 + i, family.gpus.at(i).numa}, i, family.gts));
    }
    if (family.nvme_sectors == 0) continue;
    const auto nodes = static_cast<unsigned>(node.numa.size());
    node.nvme.push_back(
        scratch_disk(i, static_cast<int>(i * nodes / static_cast<unsigned>(family.gpus.size())),
                     family.nvme_sectors));
  }
  if (family.ethernet_device != 0) {
    node.hcas.push_back(accelerated_networking(family.ethernet_device, family.ethernet_mbps));
    node.netdevs.front().speed_mbps = family.ethernet_mbps;
  }
  if (!node.nvme.empty()) node.raid = {{.disks = 8}};
  for (const char* module : {"nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_peermem"})
    node.system.modules.emplace_back(module);
  if (family.switched) {
    node.processes.push_back(
        {.pid = 1410, .name = "nv-fabricmanage", .unit = "nvidia-fabricmanager.service"});
  }
  node.processes.push_back(
      {.pid = 1420, .name = "nvidia-persiste", .unit = "nvidia-persistenced.service"});
  node.programs = {"usr/bin/enroot", "usr/bin/nvidia-container-cli", "usr/bin/nvidia-smi",
                   "usr/lib/x86_64-linux-gnu/slurm/spank_pyxis.so"};
}

void give_nccl(NodeDescription& node, std::string_view family, unsigned per_switch) {
  const auto path = fmt::format("opt/microsoft/{}/topo.xml", family);
  node.nccl_conf = {{"NCCL_IB_PCI_RELAXED_ORDERING", "1"},
                    {"NCCL_TOPO_FILE", fmt::format("/{}", path)},
                    {"NCCL_IGNORE_CPU_AFFINITY", "1"}};
  node.nccl_topology = {.path = path,
                        .target = fmt::format("opt/microsoft/{}-topo.xml", family),
                        .per_switch = per_switch};
}

NodeDescription a100_node(const std::string& name, std::uint64_t memory_kib) {
  auto node = azure_machine(name);
  node.cpu_model = {.vendor = "AuthenticAMD",
                    .name = "AMD EPYC 7V12 64-Core Processor",
                    .family = 23,
                    .model = 49,
                    .cores_per_l3 = 4,
                    .l3_kib = 16384};
  give_processors(node, 2, 48, 1, 4);
  give_memory(node, memory_kib);
  node.kernel_log = boot_log(node.cpu_model.name);
  give_gpus(node, ampere());
  give_nccl(node, "ndv4", 2);
  return node;
}

NodeDescription sapphire_rapids_node(const std::string& name, std::uint64_t memory_kib) {
  auto node = azure_machine(name);
  node.cpu_model = {
      .name = "Intel(R) Xeon(R) Platinum 8480C", .cores_per_l3 = 48, .l3_kib = 107520};
  give_processors(node, 2, 48, 1, 2);
  give_memory(node, memory_kib);
  node.kernel_log = boot_log(node.cpu_model.name);
  return node;
}

// Site settings beyond the profile, so that faults of mounts and programs can be detected.
constexpr std::string_view kSite = R"(# What this site expects beyond the profile.
overrides:
  host:
    kernel: {forbidden: ["pci=nomsi"], source: site}
    hugepages: {pages: [{size: 2 MiB, count: 0}], source: site}
    mounts:
      required:
        - {point: /, writable: true}
        - {point: /mnt/nvme, type: xfs, writable: true}
        - {point: /shared, type: "nfs*"}
      source: site
    programs:
      executable: [/usr/bin/enroot, /usr/bin/nvidia-container-cli]
      present: [/usr/lib/x86_64-linux-gnu/slurm/spank_pyxis.so]
      source: site
    container_storage: {paths: [/var/lib/docker, /var/lib/enroot], free_min: 1 GiB, source: site}
)";

}  // namespace

NodeDescription nd40rs_v2() {
  auto node = azure_machine("nd40rs_v2");
  node.cpu_model = {.name = "Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz",
                    .model = 85,
                    .cores_per_l3 = 20,
                    .l3_kib = 33792};
  give_processors(node, 2, 20, 1, 2);
  give_memory(node, 693'505'424);
  node.kernel_log = boot_log(node.cpu_model.name);
  give_gpus(node, volta());
  node.nvml = {.branch = 470, .driver = "470.256.02", .cuda = 11040};
  give_nccl(node, "ndv2", 4);
  return node;
}

NodeDescription nd96asr_v4() {
  auto node = a100_node("nd96asr_v4", 928'858'388);
  node.nvml = {.branch = 535, .driver = "535.161.08", .cuda = 12020};
  return node;
}

NodeDescription nd96amsr_a100_v4() {
  auto node = a100_node("nd96amsr_a100_v4", 1'857'830'712);
  for (auto& gpu : node.gpus) {
    gpu.pci.device = 0x20b2;
    gpu.model = "NVIDIA A100-SXM4-80GB";
    gpu.facts = a100_sxm4(81'920);
  }
  return node;
}

NodeDescription nd96isr_h100_v5() {
  auto node = sapphire_rapids_node("nd96isr_h100_v5", 1'915'071ULL * 1024);
  give_gpus(node, hopper());
  give_nccl(node, "ndv5", 1);
  node.site = kSite;
  return node;
}

NodeDescription nd96isr_mi300x_v5() {
  auto node = sapphire_rapids_node("nd96isr_mi300x_v5", 1'915'059ULL * 1024);
  for (unsigned i = 0; i < 8; ++i) {
    const int numa = i < 4 ? 0 : 1;
    node.amd_gpus.push_back(mi300x({0x2 + i, numa}, i));
    node.hcas.push_back(hca("400 Gb/sec (4X NDR)", 0x101e, {0x101 + i, numa}, i, 32));
    node.nvme.push_back(scratch_disk(i, numa, 7'501'476'528));
  }
  node.hcas.push_back(accelerated_networking(0x101a, 100'000));
  node.raid = {{.disks = 8}};
  node.system.modules.emplace_back("amdgpu");
  return node;
}

NodeDescription hb176rs_v4() {
  auto node = azure_machine("hb176rs_v4");
  node.system.hostname = "hpc-0003";
  node.cpu_model = {.vendor = "AuthenticAMD",
                    .name = "AMD EPYC 9V33X 96-Core Processor",
                    .family = 25,
                    .model = 17,
                    .cores_per_l3 = 8,
                    .l3_kib = 98304};
  give_processors(node, 2, 88, 1, 4);
  give_memory(node, 792'561'408);
  node.kernel_log = boot_log(node.cpu_model.name);
  node.hcas = {hca("400 Gb/sec (4X NDR)", 0x101e, {0x101, 0}, 0, 32),
               accelerated_networking(0x101a, 100'000)};
  for (unsigned i = 0; i < 2; ++i) node.nvme.push_back(scratch_disk(i, 0, 3'750'748'848));
  node.raid = {{.disks = 2}};
  return node;
}

}  // namespace muster::nodes
