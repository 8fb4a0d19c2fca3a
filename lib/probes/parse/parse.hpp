// SPDX-License-Identifier: Apache-2.0
// Parsers of the files that probes read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/node/devices.hpp"
#include "lib/node/host.hpp"

namespace muster {

// The kernel's PID_MAX_LIMIT.
inline constexpr std::size_t kMaxProcesses = 4UL * 1024 * 1024;

struct ProcessStat {
  std::uint64_t pid = 0;
  std::string_view name;  // into the parsed text; may contain blanks, parentheses and newlines
  char state = '?';       // R running, S sleeping, D uninterruptible, Z zombie …
  std::uint64_t parent = 0;
  std::uint64_t start_ticks = 0;

  bool operator==(const ProcessStat&) const = default;
};

[[nodiscard]] Result<ProcessStat> parse_process_stat(std::string_view text);

// The sum of voluntary and involuntary context switches, from proc/<pid>/status.
[[nodiscard]] Result<std::uint64_t> parse_context_switches(std::string_view status);

// The real user id, from proc/<pid>/status.
[[nodiscard]] Result<std::uint64_t> parse_user(std::string_view status);

// Whether a SIGKILL is pending, from proc/<pid>/status.
[[nodiscard]] bool is_being_killed(std::string_view status);

struct LoadAverage {
  double load1 = 0;
  double load5 = 0;
  double load15 = 0;
  std::uint64_t running = 0;
  std::uint64_t total = 0;

  bool operator==(const LoadAverage&) const = default;
};

[[nodiscard]] Result<LoadAverage> parse_load_average(std::string_view line);

// The value of `key` in bytes, in proc/meminfo ("MemTotal:  263985920 kB") or a NUMA node's, where
// it is "Node 0 MemTotal".
[[nodiscard]] Result<std::uint64_t> parse_meminfo(std::string_view text, std::string_view key);

// proc/cpuinfo repeats a block of 2 to 4 KiB for every CPU; only the first is read.
inline constexpr std::size_t kCpuinfoHead = 16UL * 1024;

// The value of the first line "key : value", as in proc/cpuinfo and proc/<pid>/status.
[[nodiscard]] std::optional<std::string_view> field_of(std::string_view text, std::string_view key);

// "server:/export /data\040set nfs4 rw,hard 0 0": a mount without its space.
[[nodiscard]] Result<Mount> parse_mount(std::string_view line);

// Decodes escapes of one byte: `start`, then the digits of a number to the base.
[[nodiscard]] std::string unescape(std::string_view text, std::string_view start,
                                   std::size_t digits, int base);

// The kernel's octal escapes in tables of mounts, such as \040 for a blank.
[[nodiscard]] inline std::string unescape_mount(std::string_view text) {
  return unescape(text, "\\", 3, 8);
}

// False for file systems that only show kernel state, and for autofs, whose mount points must not
// be touched.
[[nodiscard]] bool holds_data(std::string_view type);

// Files below /sys/class/infiniband. Text that is not in the kernel's format is an error and never
// a plausible number.

// "400 Gb/sec (4X NDR)". `speed` is empty for SDR on kernels that print "10 Gb/sec (4X)".
struct LinkRate {
  double gbps = 0;
  unsigned lanes = 0;
  std::string speed;

  bool operator==(const LinkRate&) const = default;
};

[[nodiscard]] Result<LinkRate> parse_link_rate(std::string_view text);

// Returns the number in "4: ACTIVE" or "5: LinkUp".
[[nodiscard]] Result<unsigned> parse_numbered_state(std::string_view text);

// "0x1a0"; LIDs of some fabrics have more than 16 bits.
[[nodiscard]] Result<unsigned> parse_lid(std::string_view text);

// "0x8015", 16 bits.
[[nodiscard]] Result<unsigned> parse_pkey(std::string_view text);

// Eight or four groups of four hex digits, returned in lower case.
[[nodiscard]] Result<std::string> parse_gid(std::string_view text);
[[nodiscard]] Result<std::string> parse_guid(std::string_view text);

// Error counters of a link's physical layer (corrected bits, symbol errors), which only the driver
// of the network interface reports.

// All statistics of an interface, as `ethtool -S` lists them.
[[nodiscard]] Result<std::map<std::string, std::uint64_t>> read_statistics(
    const std::string& interface);

// Returns the two error counters, by name; empty if the driver has none.
[[nodiscard]] std::map<std::string, std::uint64_t> read_link_errors(const std::string& interface);

// Splits the kernel's fields of 32 bytes into names.
[[nodiscard]] std::vector<std::string> split_names(std::string_view block);

// Data that clouds store on a node: the key-value pool of Hyper-V's daemon, and the instance data
// of cloud-init in /run/cloud-init.

// Returns the physical host's name from a pool, and nothing else; missing if the host has not set
// it.
[[nodiscard]] Result<std::string> parse_physical_host(std::string_view pool);

// Returns the cloud's name for the instance's size: "Standard_ND96isr_H100_v5", "p5.48xlarge",
// "a3-highgpu-8g". Missing if the text has none; an error if it is not JSON.
[[nodiscard]] Result<std::string> parse_instance_size(std::string_view text);

// Files that configure NCCL.

// Whether a variable belongs to NCCL or a library that it uses. No other variables are recorded.
[[nodiscard]] bool steers_nccl(std::string_view name);

// The files that NCCL reads its settings from, the strongest first: the one that NCCL_CONF_FILE
// names, else the user's own below `home` (empty for none), and the node's. Variables win over
// them.
[[nodiscard]] std::vector<std::string> nccl_conf_files(std::string_view named,
                                                       std::string_view home);

// Parses NAME=value lines as NCCL does: blanks are significant, comments do not exist, and the
// first line for a name wins. The origin of each setting is "<path>:<line>".
[[nodiscard]] std::vector<NcclSetting> parse_nccl_conf(std::string_view text,
                                                       std::string_view path);

// Returns the devices and CPUs of a topology file, without its bridges.
[[nodiscard]] Result<NcclTopology> parse_nccl_topology(std::string_view xml);

// A PCI device's configuration space.

// Fills `into` from `offset`; false if the configuration space is too short. Reads are made one by
// one, because each may exit to a hypervisor.
using ReadConfig = std::function<bool(std::size_t offset, std::span<std::uint8_t> into)>;

// Sets the facts of a device from its configuration space.
void parse_pci_config(const ReadConfig& read, PciDevice& device);

// Sets all facts of parse_pci_config() but `responding` to `why` they cannot be read.
void set_config(PciDevice& device, const Fact<unsigned>& why);

}  // namespace muster
