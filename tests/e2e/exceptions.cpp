// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/exceptions.hpp"

#include <algorithm>
#include <array>

#include "lib/base/text.hpp"

namespace muster::e2e {
namespace {

// The other files that hwloc opens differ between versions.
constexpr std::string_view kByHwloc = "read by hwloc";

struct Exception {
  std::string_view path;     // a glob
  std::string_view damages;  // globs separated by '|'
  std::string_view why;
};

constexpr std::array kExceptions{
    Exception{
        "*/b036:00:00.0/*", "*",
        "accelerated networking: its link layer is Ethernet, and no check of ib.* or topo.* counts "
        "it"},
    Exception{"proc/1/*", "missing|a_dangling_link", "the process has ended meanwhile"},
    Exception{"proc/cpuinfo", "*", "only the model's name; counts are sysfs'"},
    Exception{"sys/class/infiniband_mad/abi_version", "*", "only a line of NHC's asks for it"},
    Exception{"proc/sys/kernel/hostname", "*", "a label"},
    Exception{"proc/sys/kernel/osrelease", "*", "no release is required"},
    Exception{"proc/sys/kernel/random/boot_id", "*", "only earlier runs are told apart by it"},
    Exception{"proc/sys/kernel/numa_balancing", "missing|a_dangling_link",
              "this kernel was built without it"},
    Exception{"proc/sys/vm/zone_reclaim_mode", "missing|a_dangling_link",
              "this kernel was built without it"},
    Exception{"*/current_link_*", "missing|a_dangling_link",
              "below Hyper-V a link may not be measurable"},
    Exception{"*/max_link_*", "*", "the profile says what is expected"},
    Exception{"*/local_cpulist", "*", "a second source: hwloc reads local_cpus"},
    Exception{"*/subsystem_*", "*", kByHwloc},
    Exception{"*/infiniband/mlx5_ib0/hca_type", "*", "a label"},
    Exception{"*/infiniband/mlx5_ib0/board_id", "missing|a_dangling_link",
              "not every device has a board id"},
    Exception{"*/infiniband/mlx5_ib0/node_guid", "*", "a label"},
    Exception{"*/ports/1/hw_counters/*", "*", "no limit is set"},
    Exception{"*/ports/1/counters/*_data", "*", "traffic, no error"},
    Exception{"*/ports/1/counters/*_packets", "*", "traffic, no error"},
    Exception{"*/ports/1/counters/port_xmit_wait", "*", "congestion, no fault"},
    Exception{"*/ports/1/counters/VL15_dropped", "*", "no limit is set"},
    Exception{"*/ports/1/counters/port_rcv_remote_physical_errors", "*", "another cable's fault"},
    Exception{"*/ports/1/counters/port_rcv_switch_relay_errors", "*", "normal with multicast"},
    Exception{"*/net/*/carrier", "*", "operstate tells"},
    Exception{"*/net/*/mtu", "*", "no limit is set"},
    Exception{"*/net/*/speed", "*", "no limit is set"},
    Exception{"*/net/*/type", "*", "not judged"},
    Exception{"*/nvme/nvme0/model", "*", "a label"},
    Exception{"*/nvme/nvme0/firmware_rev", "*", "compared among those that tell"},
    Exception{"*/pci6460:00/6460:00:00.0/current_link_*", "*", "compared among those that tell"},
    Exception{"*/nvme/nvme0/nvme0n1/size", "*", "the profile sets no size"},
    Exception{"sys/devices/virtual/block/md0/md/level", "*", "a label"},
    Exception{"sys/devices/virtual/block/md0/md/raid_disks", "*", "a label"},
    Exception{"sys/devices/virtual/dmi/id/*", "*",
              "only recognition asks, and the profile is named"},
    Exception{"sys/devices/system/cpu/cpu0/cache/*", "*", kByHwloc},
    Exception{"sys/devices/system/cpu/cpu0/topology/die_id", "*", kByHwloc},
    Exception{"sys/devices/system/node/node0/distance", "*", kByHwloc},
    Exception{"sys/devices/system/node/node0/hugepages/*", "*", kByHwloc},
    Exception{"sys/fs/cgroup/cgroup.controllers", "*", kByHwloc},
    Exception{"sys/kernel/mm/hugepages/hugepages-1048576kB/*", "*",
              "the site expects nothing of pages of this size"},
    Exception{"sys/kernel/mm/transparent_hugepage/enabled", "*", "no word is required"},
    Exception{"sys/fs/cgroup/system.slice/*", "*",
              "not required, or systemd's links in /run tell as well"},
    Exception{"run/systemd/units/", "*", "control groups tell as well"},
    Exception{"proc/1234/comm", "*", "the control group of slurmd tells as well"},
    Exception{"proc/1234/status", "*", "what is in the control group of slurmd may be anybody's"},
    Exception{"proc/cmdline", "garbled|huge", "any text is a command line"},
    Exception{"proc/driver/nvidia/gpus/", "*", kByHwloc},
    Exception{"sys/bus/pci/slots/", "*", kByHwloc},
    Exception{"*/net/eth0/operstate", "*", "carrier tells as well"},
    Exception{"*/net/*/carrier_down_count", "*",
              "link_downed tells as well, and flaps of eth0 are not judged"},
    Exception{"*/ports/1/counters/link_downed", "missing|a_dangling_link",
              "carrier_down_count tells as well"},
    Exception{"*/pci000?:00/*/current_link_speed", "*",
              "an idle GPU slows its link down: its speed is not judged"},
    Exception{"*/config", "huge", "the head alone is read: a device without capabilities"},
    Exception{"*/nvme/nvme0/transport", "*",
              "a controller that does not tell counts as local: it must not disappear"},
    Exception{"sys/kernel/mm/hugepages/", "a_directory",
              "a kernel without huge pages has none, as the site expects"},
    Exception{"var/lib/hyperv/.kvp_pool_3", "*", "the physical host's name is a label"},
    Exception{"*/pci6460:00/6460:00:00.0/numa_node", "*",
              "of a disk neither place nor payload is expected"},
    Exception{"*/pci6460:00/6460:00:00.0/local_cpus", "*",
              "of a disk neither place nor payload is expected"},
    Exception{"*/pci6460:00/6460:00:00.0/config", "*",
              "of a disk neither place nor payload is expected"},
};

}  // namespace

bool may_stay_healthy(std::string_view path, std::string_view damage) {
  return std::ranges::any_of(kExceptions, [&](const Exception& each) {
    const auto damages = split(each.damages, '|');
    return matches_glob(each.path, path) &&
           std::ranges::any_of(damages,
                               [&](std::string_view glob) { return matches_glob(glob, damage); });
  });
}

std::vector<std::string> exception_patterns() {
  std::vector<std::string> patterns;
  for (const auto& each : kExceptions) {
    if (each.why != kByHwloc) patterns.emplace_back(each.path);
  }
  return patterns;
}

}  // namespace muster::e2e
