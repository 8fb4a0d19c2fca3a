// SPDX-License-Identifier: Apache-2.0
// The description of a simulated node: everything about it that muster or a job could notice.
// render.hpp turns it into a file tree for the real probes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/node/devices.hpp"
#include "lib/node/gpu.hpp"

namespace muster::nodes {

struct CpuDescription {
  unsigned id = 0;
  unsigned socket = 0;
  unsigned core = 0;  // unique in its socket
  unsigned numa = 0;
  bool online = true;
};

struct NumaDescription {
  std::uint64_t memory_kib = 0;  // 0: a node without memory
};

// One PCI function. Configuration space, link files and error counters are made from it.
struct PciDescription {
  std::string address;  // "0001:00:00.0"
  unsigned vendor = 0;
  unsigned device = 0;
  unsigned class_code = 0;  // 0x030200
  std::string driver;
  int numa = 0;          // sysfs numa_node; -1: unknown
  int local_to = -2;     // the NUMA node whose CPUs are local; -2: as `numa`
  double speed_gts = 0;  // 0: the kernel says Unknown
  double max_speed_gts = 0;
  unsigned width = 0;
  unsigned max_width = 0;
  unsigned payload_bytes = 256;
  unsigned payload_max_bytes = 256;
  bool responding = true;  // false: config space reads all ones
  bool aer = false;        // has the kernel's error counters
  std::uint64_t correctable = 0;
  std::uint64_t non_fatal = 0;
  std::uint64_t fatal = 0;
  bool acs = false;  // has the capability
  unsigned acs_control = 0;
  std::vector<std::string> bridges;  // above it, nearest last; bare metal only
  std::string vmbus_guid;            // Hyper-V's virtual PCI; empty on bare metal
};

struct GpuDescription {
  PciDescription pci;
  std::string model;
  std::string serial;
  std::string uuid;
  Gpu facts;           // values that only NVML reports
  bool listed = true;  // NVML knows it
};

// The values that the amdgpu driver adds to its PCI folder.
struct AmdGpuDescription {
  PciDescription pci;
  AmdGpu facts;
};

// The installed driver as NVML reports it.
struct NvmlDescription {
  unsigned branch = 580;  // branch of the fake library: 470, 535 or 580
  std::string driver = "580.65.06";
  unsigned cuda = 13000;
  // as in a scenario: "nvmlDeviceGetName gpu3" to a return code
  std::map<std::string, int> answers;
  std::set<std::string> hangs;
};

struct NetdevDescription {
  std::string name;   // "ib0"; empty for none
  unsigned type = 1;  // 1 Ethernet, 32 InfiniBand
  std::string operstate = "up";
  bool carrier = true;
  std::uint64_t speed_mbps = 0;
  unsigned mtu = 1500;
  std::uint64_t carrier_down_count = 1;
  std::string mac = "00:0d:3a:00:00:01";
};

struct HcaDescription {
  PciDescription pci;
  std::string name;  // "mlx5_ib0"
  std::string guid;  // "0015:5dff:fe33:ff00"
  std::string firmware = "28.39.3560";
  std::string board = "MT_0000000838";
  std::string link_layer = "InfiniBand";
  std::string state = "4: ACTIVE";
  std::string physical_state = "5: LinkUp";
  std::string rate = "400 Gb/sec (4X NDR)";
  unsigned lid = 1;
  unsigned sm_lid = 1;
  std::string gid_prefix = "fe80:0000:0000:0000";
  std::vector<unsigned> pkeys{0x8015, 0x7fff};
  std::map<std::string, std::string> counters;  // in addition to the usual ones, or instead of them
  std::map<std::string, std::string> hw_counters;
  NetdevDescription netdev;
};

struct NvmeDescription {
  PciDescription pci;
  std::string state = "live";
  std::uint64_t sectors = 0;  // of 512 bytes; 0: a controller without a namespace
  bool read_only = false;
  std::string model = "Microsoft NVMe Direct Disk v2";
  std::string firmware = "NVMDV002";
};

struct RaidDescription {
  std::string name = "md0";
  std::string level = "raid0";
  std::string state = "clean";
  unsigned disks = 0;
  int degraded = -1;  // -1: no such file, as for raid0
};

struct MountDescription {
  std::string source;
  std::string point;
  std::string type;
  std::string options = "rw,relatime";
};

struct ProcessDescription {
  unsigned pid = 0;
  unsigned parent = 1;
  std::string name;
  char state = 'S';
  std::uint64_t start_ticks = 1000;
  std::uint64_t voluntary_switches = 150;
  unsigned user = 0;
  std::string waits_in;  // a kernel function; empty for none
  std::string unit;      // systemd's; empty for none
  std::string memlock = "unlimited";
  std::string open_files = "131072";
};

struct KernelRecordDescription {
  unsigned level = 6;
  unsigned facility = 0;
  std::uint64_t time_us = 0;
  std::string text;  // written as it is: a blank must follow each newline
};

struct EdacDescription {
  std::uint64_t corrected = 0;
  std::uint64_t uncorrected = 0;
};

struct HugePagesDescription {
  std::uint64_t size_kib = 2048;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
};

// Kernel and firmware facts about the machine as a whole.
struct SystemDescription {
  std::string hostname;
  std::string boot_id = "3f0ad1c2-6a8e-4c1d-9d2b-0c54a1e7f001";
  double uptime_s = 86400;
  std::string dmi_vendor;
  std::string dmi_product;
  std::string dmi_board = "Virtual Machine";
  std::string chassis_asset_tag;
  bool hypervisor = true;
  std::string physical_host;  // in Hyper-V's key-value pool; empty for no pool
  std::string release = "5.15.0-1073-azure";
  std::string command_line = "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro console=ttyS0";
  std::string clocksource = "hyperv_clocksource_tsc_page";
  std::string transparent_hugepage = "always [madvise] never";
  std::map<std::string, std::string> sysctls;
  std::vector<std::string> modules;
};

struct CpuModelDescription {
  std::string vendor = "GenuineIntel";
  std::string name;
  unsigned family = 6;
  unsigned model = 143;
  unsigned cores_per_l3 = 8;
  unsigned l3_kib = 32768;
};

// The NCCL topology file, which lists the GPUs and HCAs below each switch.
struct NcclTopologyDescription {
  std::string path;         // "opt/microsoft/ndv5/topo.xml"; empty for none
  std::string target;       // target if that path is a link: "opt/microsoft/ndv5-topo.xml"
  unsigned per_switch = 1;  // GPUs (and HCAs) below one switch
};

struct NodeDescription {
  std::string name;     // the kind of node
  std::string profile;  // the profile it should satisfy
  SystemDescription system;
  CpuModelDescription cpu_model;
  std::vector<CpuDescription> cpus;
  std::vector<NumaDescription> numa;
  std::uint64_t available_kib = 0;  // MemAvailable
  std::uint64_t swap_kib = 0;
  std::vector<HugePagesDescription> huge_pages;
  std::vector<GpuDescription> gpus;
  std::vector<AmdGpuDescription> amd_gpus;
  NvmlDescription nvml;
  std::vector<HcaDescription> hcas;        // including those with an Ethernet link layer
  std::vector<NetdevDescription> netdevs;  // interfaces that belong to no HCA
  std::vector<NvmeDescription> nvme;
  std::vector<RaidDescription> raid;
  std::vector<MountDescription> mounts;
  std::vector<ProcessDescription> processes;
  std::vector<std::string> oneshot_services;  // active without a process
  double load1 = 0.4, load5 = 0.5, load15 = 0.6;
  unsigned running = 1;
  std::vector<KernelRecordDescription> kernel_log;
  std::vector<EdacDescription> edac;                           // empty: no driver
  std::vector<std::pair<std::string, std::string>> nccl_conf;  // empty: no file
  NcclTopologyDescription nccl_topology;
  std::vector<std::string> programs;  // "usr/bin/enroot"
  std::vector<std::string> directories;
  std::string site;  // etc/muster/muster.yaml; empty for none
};

// Makes `sockets` with `cores` each and splits their memory evenly over `numa_nodes`. Second
// threads are numbered after all first threads, as in Linux.
void give_processors(NodeDescription& node, unsigned sockets, unsigned cores, unsigned threads,
                     unsigned numa_nodes);
void give_memory(NodeDescription& node, std::uint64_t total_kib);

// Healthy GPUs as NVML reports them, by model. Values that an architecture does not offer are
// absent. scenario_of() adds the values that the rest of the node also has (address, link, model,
// serial number, peers). A V100's six links lead to the GPUs at these addresses, the others' to
// switches.
[[nodiscard]] Gpu v100_sxm2(std::uint64_t memory_mib, const std::vector<std::string>& peers);
[[nodiscard]] Gpu a100_sxm4(std::uint64_t memory_mib);
[[nodiscard]] Gpu h100_sxm5();

[[nodiscard]] NodeDescription nd40rs_v2();
[[nodiscard]] NodeDescription nd96asr_v4();
[[nodiscard]] NodeDescription nd96amsr_a100_v4();
[[nodiscard]] NodeDescription nd96isr_h100_v5();
[[nodiscard]] NodeDescription nd96isr_mi300x_v5();
// Bare metal with visible PCI switches, EDAC and AER; judged by the profile `generic` and the
// site's own limits.
[[nodiscard]] NodeDescription bare_metal_h100();
[[nodiscard]] NodeDescription hb176rs_v4();
[[nodiscard]] NodeDescription laptop();

// The same node under load: 100 processes and 2,000 kernel log records.
[[nodiscard]] NodeDescription busy(NodeDescription node);

struct NamedNode {
  std::string_view name;
  NodeDescription (*make)();
};

[[nodiscard]] const std::vector<NamedNode>& all_nodes();

}  // namespace muster::nodes
