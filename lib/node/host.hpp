// SPDX-License-Identifier: Apache-2.0
// Facts about the host itself: who it is, its processors, memory, file systems, disks and tasks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Identity {
  std::string hostname;       // root's proc/sys/kernel/hostname
  Fact<std::string> boot_id;  // proc/sys/kernel/random/boot_id
  Fact<double> uptime_s;
  Fact<std::string> dmi_vendor;
  Fact<std::string> dmi_product;
  Fact<std::string> chassis_asset_tag;
  bool hypervisor = false;
  bool foreign_root = false;
  Fact<std::string> physical_host;

  template <class Self = Identity>
  static constexpr auto fields() {
    return std::tuple{
        field("hostname", &Self::hostname, "the node's name"),
        field("boot_id", &Self::boot_id, "changes with every boot"),
        field("uptime_s", &Self::uptime_s, "seconds since boot, when the snapshot was taken"),
        field("dmi_vendor", &Self::dmi_vendor, "DMI sys_vendor"),
        field("dmi_product", &Self::dmi_product, "DMI product_name"),
        field("chassis_asset_tag",
              &Self::chassis_asset_tag,
              "DMI chassis asset tag; the same on every Azure VM"),
        field("hypervisor", &Self::hypervisor, "the processor says it runs under a hypervisor"),
        field("foreign_root",
              &Self::foreign_root,
              "observed below --root: live interfaces could not be asked"),
        field("physical_host",
              &Self::physical_host,
              "Azure: name of the physical host, from the Hyper-V key-value pool")};
  }

  bool operator==(const Identity&) const = default;
};

struct NumaNode {
  unsigned id = 0;
  Fact<std::string> cpus;  // "0-23"; empty for a node of memory only
  Fact<std::uint64_t> memory_bytes;

  template <class Self = NumaNode>
  static constexpr auto fields() {
    return std::tuple{field("id", &Self::id, "the kernel's number"),
                      field("cpus", &Self::cpus, "list of its CPUs; empty for memory only"),
                      field("memory_bytes", &Self::memory_bytes, "MemTotal of the node")};
  }

  bool operator==(const NumaNode&) const = default;
};

struct Cpu {
  Fact<unsigned> sockets;
  Fact<unsigned> cores;
  Fact<unsigned> threads;     // online logical CPUs
  Fact<std::string> offline;  // list of present CPUs that are not online; empty when none
  Fact<std::string> model;
  Fact<std::vector<NumaNode>> numa_nodes;

  template <class Self = Cpu>
  static constexpr auto fields() {
    return std::tuple{
        field("sockets", &Self::sockets, "sockets with an online CPU"),
        field("cores", &Self::cores, "cores with an online CPU"),
        field("threads", &Self::threads, "online logical CPUs"),
        field("offline", &Self::offline, "present CPUs that are not online, as a list"),
        field("model", &Self::model, "model name of proc/cpuinfo"),
        field("numa_nodes", &Self::numa_nodes, "NUMA nodes that are online")};
  }

  bool operator==(const Cpu&) const = default;
};

struct HugePages {
  std::uint64_t size_kib = 0;
  Fact<std::uint64_t> total;
  Fact<std::uint64_t> free;

  template <class Self = HugePages>
  static constexpr auto fields() {
    return std::tuple{field("size_kib", &Self::size_kib, "size of one page in KiB"),
                      field("total", &Self::total, "pages configured"),
                      field("free", &Self::free, "pages free")};
  }

  bool operator==(const HugePages&) const = default;
};

struct Memory {
  Fact<std::uint64_t> total_bytes;
  Fact<std::uint64_t> available_bytes;
  Fact<std::uint64_t> swap_total_bytes;
  Fact<std::uint64_t> swap_free_bytes;
  Fact<std::vector<HugePages>> huge_pages;

  template <class Self = Memory>
  static constexpr auto fields() {
    return std::tuple{field("total_bytes", &Self::total_bytes, "MemTotal"),
                      field("available_bytes", &Self::available_bytes, "MemAvailable"),
                      field("swap_total_bytes", &Self::swap_total_bytes, "SwapTotal"),
                      field("swap_free_bytes", &Self::swap_free_bytes, "SwapFree"),
                      field("huge_pages", &Self::huge_pages, "huge pages by size")};
  }

  bool operator==(const Memory&) const = default;
};

struct Space {
  std::uint64_t total_bytes = 0;
  std::uint64_t available_bytes = 0;  // for users without privilege
  std::uint64_t used_bytes = 0;
  std::uint64_t inodes_total = 0;  // 0 where the file system has no fixed number
  std::uint64_t inodes_free = 0;

  template <class Self = Space>
  static constexpr auto fields() {
    return std::tuple{field("total_bytes", &Self::total_bytes, "size"),
                      field("available_bytes", &Self::available_bytes, "free for users"),
                      field("used_bytes", &Self::used_bytes, "in use"),
                      field("inodes_total", &Self::inodes_total, "0 where inodes are not counted"),
                      field("inodes_free", &Self::inodes_free, "inodes free")};
  }

  bool operator==(const Space&) const = default;
};

struct Mount {
  std::string point;
  std::string type;
  std::string source;
  bool read_only = false;
  bool hung = false;  // statfs did not answer within its own deadline
  Fact<Space> space;

  template <class Self = Mount>
  static constexpr auto fields() {
    return std::tuple{field("point", &Self::point, "mount point"),
                      field("type", &Self::type, "file system type"),
                      field("source", &Self::source, "device or server"),
                      field("read_only", &Self::read_only, "mounted read-only"),
                      field("hung", &Self::hung, "statfs did not answer in its own deadline"),
                      field("space", &Self::space, "what statfs says")};
  }

  bool operator==(const Mount&) const = default;
};

// One that holds no data: proc, sysfs, cgroup, the automounter's …
struct KernelMount {
  std::string point;
  std::string type;
  std::string source;
  bool read_only = false;

  template <class Self = KernelMount>
  static constexpr auto fields() {
    return std::tuple{field("point", &Self::point, "mount point"),
                      field("type", &Self::type, "file system type"),
                      field("source", &Self::source, "as proc/mounts names it"),
                      field("read_only", &Self::read_only, "mounted read-only")};
  }

  bool operator==(const KernelMount&) const = default;
};

struct Mounts {
  std::vector<Mount> mounts;  // in the order of proc/mounts; the last of one point is on top
  std::vector<std::string> automounts;  // with nothing mounted on them
  Fact<std::vector<KernelMount>> kernel;

  template <class Self = Mounts>
  static constexpr auto fields() {
    return std::tuple{
        field("mounts", &Self::mounts, "file systems that hold data; not proc, sysfs, cgroup …"),
        field(
            "automounts",
            &Self::automounts,
            "points at or below which the kernel mounts what is used (autofs), as nothing is yet"),
        field("kernel", &Self::kernel, "the others, in the order of proc/mounts")};
  }

  // The automount that would mount something at `point` once it is used; null for none.
  [[nodiscard]] const std::string* automount_of(std::string_view point) const {
    for (const auto& each : automounts) {
      const auto rest = point.substr(std::min(each.size(), point.size()));
      if (point.starts_with(each) && (rest.empty() || rest.front() == '/')) return &each;
    }
    return nullptr;
  }

  bool operator==(const Mounts&) const = default;
};

struct Nvme {
  std::string name;        // nvme0n1: one namespace
  std::string controller;  // nvme0
  Fact<std::string> model;
  Fact<std::string> state;  // of the controller: live, resetting, dead …
  Fact<std::uint64_t> size_bytes;
  Fact<bool> read_only;
  Fact<std::string> address;  // PCI address

  template <class Self = Nvme>
  static constexpr auto fields() {
    return std::tuple{
        field("name", &Self::name, "namespace, as nvme0n1"),
        field("controller", &Self::controller, "controller, as nvme0"),
        field("model", &Self::model, "model"),
        field("state", &Self::state, "state of the controller: live, resetting, dead"),
        field("size_bytes", &Self::size_bytes, "size"),
        field("read_only", &Self::read_only, "the kernel allows reads only"),
        field("address", &Self::address, "PCI address of the controller")};
  }

  bool operator==(const Nvme&) const = default;
};

struct Raid {
  std::string name;  // md0
  Fact<std::string> level;
  Fact<std::string> state;  // array_state: clean, active, readonly, inactive …
  Fact<unsigned> disks;
  Fact<unsigned> degraded;  // missing members; raid0 has no such file: absent

  template <class Self = Raid>
  static constexpr auto fields() {
    return std::tuple{field("name", &Self::name, "array, as md0"),
                      field("level", &Self::level, "raid0, raid1 …"),
                      field("state", &Self::state, "array_state of the kernel"),
                      field("disks", &Self::disks, "members the array should have"),
                      field("degraded", &Self::degraded, "members missing")};
  }

  bool operator==(const Raid&) const = default;
};

struct Disks {
  std::vector<Nvme> nvme;                     // local namespaces (PCIe), not fabrics
  std::vector<std::string> dead_controllers;  // nvme controllers without any namespace: their names
  std::vector<Raid> raid;

  template <class Self = Disks>
  static constexpr auto fields() {
    return std::tuple{
        field("nvme", &Self::nvme, "local NVMe namespaces"),
        field("dead_controllers", &Self::dead_controllers, "NVMe controllers without a namespace"),
        field("raid", &Self::raid, "md arrays")};
  }

  bool operator==(const Disks&) const = default;
};

struct Task {
  std::uint64_t pid = 0;
  std::string name;
  std::uint64_t start_ticks = 0;  // since boot: with the pid it identifies the task
  std::uint64_t parent = 0;
  Fact<std::uint64_t> switches;  // of D state only: it moves when the task wakes up
  Fact<double> stuck_since_s;    // uptime at which an earlier run saw it so already
  Fact<double> awake_at_s;       // uptime of the run before that one, which did not

  template <class Self = Task>
  static constexpr auto fields() {
    return std::tuple{
        field("pid", &Self::pid, "process id"),
        field("name", &Self::name, "comm"),
        field("start_ticks", &Self::start_ticks, "start time in clock ticks since boot"),
        field("parent", &Self::parent, "pid of the parent"),
        field("switches",
              &Self::switches,
              "context switches of both kinds, of a task in D state: they move when it wakes up"),
        field("stuck_since_s",
              &Self::stuck_since_s,
              "uptime at which an earlier run saw it in this sleep"),
        field("awake_at_s",
              &Self::awake_at_s,
              "uptime of the run before that one, which did not see it so")};
  }

  bool operator==(const Task&) const = default;
};

struct Processes {
  Fact<double> load1;
  Fact<double> load5;
  Fact<double> load15;
  Fact<std::uint64_t> running;
  Fact<std::uint64_t> total;
  Fact<std::vector<Task>> uninterruptible;  // D state
  Fact<std::vector<Task>> zombies;

  template <class Self = Processes>
  static constexpr auto fields() {
    return std::tuple{field("load1", &Self::load1, "load average, 1 minute"),
                      field("load5", &Self::load5, "5 minutes"),
                      field("load15", &Self::load15, "15 minutes"),
                      field("running", &Self::running, "runnable tasks"),
                      field("total", &Self::total, "all tasks"),
                      field("uninterruptible", &Self::uninterruptible, "processes in D state"),
                      field("zombies", &Self::zombies, "processes that nobody waited for")};
  }

  bool operator==(const Processes&) const = default;
};

}  // namespace muster
