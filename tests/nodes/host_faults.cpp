// SPDX-License-Identifier: Apache-2.0
// Faults of processors, memory, disks, mounts and tasks. Full disks cannot be simulated: statfs
// reports the file system that the tree is on, so the check's own tests cover them.
#include <algorithm>
#include <iterator>

#include "lib/base/units.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"

namespace muster::nodes {
namespace {

MountDescription& mount_at(NodeDescription& node, std::string_view point) {
  return needed(node.mounts, &MountDescription::point, point);
}

std::vector<Fault> machine_faults() {
  return {
      fails("core_offline", kH100, "host.cpu", "node",
            [](NodeDescription& node) { node.cpus.at(37).online = false; }),
      fails("memory_short", kH100, "host.memory", "node",
            [](NodeDescription& node) {
              for (auto& numa : node.numa) numa.memory_kib = numa.memory_kib / 8 * 7;
            }),
      fails("numa_node_without_memory", kA100, "host.memory", "numa2",
            [](NodeDescription& node) {
              node.numa.at(0).memory_kib += node.numa.at(2).memory_kib;
              node.numa.at(2).memory_kib = 0;
            }),
      warns("memory_taken", kH100, "host.memory_available", "node",
            [](NodeDescription& node) { node.available_kib /= 50; }),
      warns("swap_on", kH100, "host.swap", "node",
            [](NodeDescription& node) { node.swap_kib = 8'388'604; }),
      warns("hugepages_left_behind", kH100, "host.hugepages", "hugepages-2048kB",
            [](NodeDescription& node) {
              node.huge_pages.at(0).total = node.huge_pages.at(0).free = 4096;
            }),
      fails("memory_uncorrected", kBareMetal, "host.edac", "mc2",
            [](NodeDescription& node) { node.edac.at(2).uncorrected = 1; }),
      seen_before(kHour, warns("memory_corrected_often", kBareMetal, "host.edac", "mc1",
                               [](NodeDescription& node) { node.edac.at(1).corrected = 900; })),
  };
}

std::vector<Fault> task_faults() {
  return {
      warns("load_left_behind", kH100, "host.load", "node",
            [](NodeDescription& node) { node.load1 = node.load5 = node.load15 = 288; }),
      warns("many_running", kA100, "host.load", "node",
            [](NodeDescription& node) {
              node.running = 400;
              node.load1 = 250;
            }),
      lasting(kHour, fails("task_stuck", kH100, "host.stuck_tasks", "pid 4242",
                           [](NodeDescription& node) {
                             node.processes.push_back({.pid = 4242,
                                                       .parent = 1234,
                                                       .name = "python",
                                                       .state = 'D',
                                                       .start_ticks = 7'000'000});
                           })),
      warns("zombies", kH100, "host.stuck_tasks", "zombies",
            [](NodeDescription& node) {
              for (unsigned pid = 6000; pid < 6080; ++pid) {
                node.processes.push_back({.pid = pid,
                                          .parent = 1234,
                                          .name = "orted",
                                          .state = 'Z',
                                          .start_ticks = 7'000'000});
              }
            }),
  };
}

std::vector<Fault> storage_faults() {
  return {
      fails("mount_missing", kH100, "host.mounts", "/shared",
            [](NodeDescription& node) {
              std::erase_if(node.mounts,
                            [](const auto& mount) { return mount.point == "/shared"; });
            }),
      fails("mount_read_only", kH100, "host.mounts", "/mnt/nvme",
            [](NodeDescription& node) { mount_at(node, "/mnt/nvme").options = "ro,relatime"; }),
      fails("mount_of_wrong_type", kH100, "host.mounts", "/shared",
            [](NodeDescription& node) {
              mount_at(node, "/shared").type = "ext4";
              mount_at(node, "/shared").source = "/dev/sda1";
            }),
      fails("nvme_missing", kH100, "host.nvme", "node",
            [](NodeDescription& node) { drop(node.nvme, node.nvme.size() - 1); }),
      fails("nvme_dead", kH100, "host.nvme", "nvme6",
            [](NodeDescription& node) {
              node.nvme.at(6).state = "dead";
              node.nvme.at(6).sectors = 0;
            }),
      fails("nvme_narrow", kBareMetal, "host.nvme", "nvme5n1",
            [](NodeDescription& node) { node.nvme.at(5).pci.width = 1; }),
      fails("nvme_small", kBareMetal, "host.nvme", "nvme5n1",
            [](NodeDescription& node) { node.nvme.at(5).sectors /= 2; }),
      warns("nvme_other_firmware", kBareMetal, "host.nvme", "nvme2n1",
            [](NodeDescription& node) { node.nvme.at(2).firmware = "NVMDV001"; }),
      fails("nvme_read_only", kA100, "host.nvme", "nvme1n1",
            [](NodeDescription& node) { node.nvme.at(1).read_only = true; }),
      fails("array_degraded", kA100, "host.nvme", "md0",
            [](NodeDescription& node) {
              node.raid.at(0).level = "raid10";
              node.raid.at(0).degraded = 1;
            }),
      fails("array_inactive", kH100, "host.nvme", "md0",
            [](NodeDescription& node) { node.raid.at(0).state = "inactive"; }),
  };
}

}  // namespace

std::vector<Fault> host_faults() {
  auto faults = machine_faults();
  std::ranges::move(task_faults(), std::back_inserter(faults));
  std::ranges::move(storage_faults(), std::back_inserter(faults));
  return faults;
}

}  // namespace muster::nodes
