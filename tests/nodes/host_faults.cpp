// SPDX-License-Identifier: Apache-2.0
// What goes wrong with processors, memory, disks, mounts and tasks. How full a disk is cannot be
// told here: statfs answers for the file system that the tree lies on, so the check's own tests
// cover it.
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
      {.name = "core_offline",
       .node = kH100,
       .check = "host.cpu",
       .device = "node",
       .change = [](NodeDescription& node) { node.cpus.at(37).online = false; }},
      {.name = "memory_short",
       .node = kH100,
       .check = "host.memory",
       .device = "node",
       .change =
           [](NodeDescription& node) {
             for (auto& numa : node.numa) numa.memory_kib = numa.memory_kib / 8 * 7;
           }},
      {.name = "numa_node_without_memory",
       .node = kA100,
       .check = "host.memory",
       .device = "numa2",
       .change =
           [](NodeDescription& node) {
             node.numa.at(0).memory_kib += node.numa.at(2).memory_kib;
             node.numa.at(2).memory_kib = 0;
           }},
      {.name = "memory_taken",
       .node = kH100,
       .check = "host.memory_available",
       .device = "node",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.available_kib /= 50; }},
      {.name = "swap_on",
       .node = kH100,
       .check = "host.swap",
       .device = "node",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.swap_kib = 8'388'604; }},
      {.name = "hugepages_left_behind",
       .node = kH100,
       .check = "host.hugepages",
       .device = "hugepages-2048kB",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             node.huge_pages.at(0).total = node.huge_pages.at(0).free = 4096;
           }},
      {.name = "memory_uncorrected",
       .node = kBareMetal,
       .check = "host.edac",
       .device = "mc2",
       .change = [](NodeDescription& node) { node.edac.at(2).uncorrected = 1; }},
      {.name = "memory_corrected_often",
       .node = kBareMetal,
       .check = "host.edac",
       .device = "mc1",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.edac.at(1).corrected = 900; },
       .earlier_s = kHour},
  };
}

std::vector<Fault> task_faults() {
  return {
      {.name = "load_left_behind",
       .node = kH100,
       .check = "host.load",
       .device = "node",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.load1 = node.load5 = node.load15 = 288; }},
      {.name = "many_running",
       .node = kA100,
       .check = "host.load",
       .device = "node",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             node.running = 400;
             node.load1 = 250;
           }},
      {.name = "task_stuck",
       .node = kH100,
       .check = "host.stuck_tasks",
       .device = "pid 4242",
       .change =
           [](NodeDescription& node) {
             node.processes.push_back({.pid = 4242,
                                       .parent = 1234,
                                       .name = "python",
                                       .state = 'D',
                                       .start_ticks = 7'000'000});
           },
       .earlier_s = kHour,
       .lasting = true},
      {.name = "zombies",
       .node = kH100,
       .check = "host.stuck_tasks",
       .device = "zombies",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             for (unsigned pid = 6000; pid < 6080; ++pid) {
               node.processes.push_back({.pid = pid,
                                         .parent = 1234,
                                         .name = "orted",
                                         .state = 'Z',
                                         .start_ticks = 7'000'000});
             }
           }},
  };
}

std::vector<Fault> storage_faults() {
  return {
      {.name = "mount_missing",
       .node = kH100,
       .check = "host.mounts",
       .device = "/shared",
       .change =
           [](NodeDescription& node) {
             std::erase_if(node.mounts, [](const auto& mount) { return mount.point == "/shared"; });
           }},
      {.name = "mount_read_only",
       .node = kH100,
       .check = "host.mounts",
       .device = "/mnt/nvme",
       .change =
           [](NodeDescription& node) { mount_at(node, "/mnt/nvme").options = "ro,relatime"; }},
      {.name = "mount_of_wrong_type",
       .node = kH100,
       .check = "host.mounts",
       .device = "/shared",
       .change =
           [](NodeDescription& node) {
             mount_at(node, "/shared").type = "ext4";
             mount_at(node, "/shared").source = "/dev/sda1";
           }},
      {.name = "nvme_missing",
       .node = kH100,
       .check = "host.nvme",
       .device = "node",
       .change = [](NodeDescription& node) { drop(node.nvme, node.nvme.size() - 1); }},
      {.name = "nvme_dead",
       .node = kH100,
       .check = "host.nvme",
       .device = "nvme6",
       .change =
           [](NodeDescription& node) {
             node.nvme.at(6).state = "dead";
             node.nvme.at(6).sectors = 0;
           }},
      {.name = "nvme_narrow",
       .node = kBareMetal,
       .check = "host.nvme",
       .device = "nvme5n1",
       .change = [](NodeDescription& node) { node.nvme.at(5).pci.width = 1; }},
      {.name = "nvme_small",
       .node = kBareMetal,
       .check = "host.nvme",
       .device = "nvme5n1",
       .change = [](NodeDescription& node) { node.nvme.at(5).sectors /= 2; }},
      {.name = "nvme_other_firmware",
       .node = kBareMetal,
       .check = "host.nvme",
       .device = "nvme2n1",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.nvme.at(2).firmware = "NVMDV001"; }},
      {.name = "nvme_read_only",
       .node = kA100,
       .check = "host.nvme",
       .device = "nvme1n1",
       .change = [](NodeDescription& node) { node.nvme.at(1).read_only = true; }},
      {.name = "array_degraded",
       .node = kA100,
       .check = "host.nvme",
       .device = "md0",
       .change =
           [](NodeDescription& node) {
             node.raid.at(0).level = "raid10";
             node.raid.at(0).degraded = 1;
           }},
      {.name = "array_inactive",
       .node = kH100,
       .check = "host.nvme",
       .device = "md0",
       .change = [](NodeDescription& node) { node.raid.at(0).state = "inactive"; }},
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
