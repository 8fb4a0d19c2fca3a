// SPDX-License-Identifier: Apache-2.0
// Facts about the host itself: who it is, its processors, memory, file systems, disks and tasks.
#pragma once

#include <cstdint>
#include <string>
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

  static constexpr auto fields() {
    return std::tuple{
        field("hostname", &Identity::hostname, "the node's name"),
        field("boot_id", &Identity::boot_id, "changes with every boot"),
        field("uptime_s", &Identity::uptime_s, "seconds since boot, when the snapshot was taken"),
        field("dmi_vendor", &Identity::dmi_vendor, "DMI sys_vendor"),
        field("dmi_product", &Identity::dmi_product, "DMI product_name"),
        field("chassis_asset_tag",
              &Identity::chassis_asset_tag,
              "DMI chassis asset tag; the same on every Azure VM"),
        field("hypervisor", &Identity::hypervisor, "the processor says it runs under a hypervisor"),
        field("foreign_root",
              &Identity::foreign_root,
              "observed below --root: live interfaces could not be asked"),
        field("physical_host",
              &Identity::physical_host,
              "Azure: name of the physical host, from the Hyper-V key-value pool")};
  }

  bool operator==(const Identity&) const = default;
};

struct NumaNode {
  unsigned id = 0;
  Fact<std::string> cpus;  // "0-23"; empty for a node of memory only
  Fact<std::uint64_t> memory_bytes;

  static constexpr auto fields() {
    return std::tuple{field("id", &NumaNode::id, "the kernel's number"),
                      field("cpus", &NumaNode::cpus, "list of its CPUs; empty for memory only"),
                      field("memory_bytes", &NumaNode::memory_bytes, "MemTotal of the node")};
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

  static constexpr auto fields() {
    return std::tuple{
        field("sockets", &Cpu::sockets, "sockets with an online CPU"),
        field("cores", &Cpu::cores, "cores with an online CPU"),
        field("threads", &Cpu::threads, "online logical CPUs"),
        field("offline", &Cpu::offline, "present CPUs that are not online, as a list"),
        field("model", &Cpu::model, "model name of proc/cpuinfo"),
        field("numa_nodes", &Cpu::numa_nodes, "NUMA nodes that are online")};
  }

  bool operator==(const Cpu&) const = default;
};

struct HugePages {
  std::uint64_t size_kib = 0;
  Fact<std::uint64_t> total;
  Fact<std::uint64_t> free;

  static constexpr auto fields() {
    return std::tuple{field("size_kib", &HugePages::size_kib, "size of one page in KiB"),
                      field("total", &HugePages::total, "pages configured"),
                      field("free", &HugePages::free, "pages free")};
  }

  bool operator==(const HugePages&) const = default;
};

struct Memory {
  Fact<std::uint64_t> total_bytes;
  Fact<std::uint64_t> available_bytes;
  Fact<std::uint64_t> swap_total_bytes;
  Fact<std::vector<HugePages>> huge_pages;

  static constexpr auto fields() {
    return std::tuple{field("total_bytes", &Memory::total_bytes, "MemTotal"),
                      field("available_bytes", &Memory::available_bytes, "MemAvailable"),
                      field("swap_total_bytes", &Memory::swap_total_bytes, "SwapTotal"),
                      field("huge_pages", &Memory::huge_pages, "huge pages by size")};
  }

  bool operator==(const Memory&) const = default;
};

struct Space {
  std::uint64_t total_bytes = 0;
  std::uint64_t available_bytes = 0;  // for users without privilege
  std::uint64_t used_bytes = 0;
  std::uint64_t inodes_total = 0;  // 0 where the file system has no fixed number
  std::uint64_t inodes_free = 0;

  static constexpr auto fields() {
    return std::tuple{field("total_bytes", &Space::total_bytes, "size"),
                      field("available_bytes", &Space::available_bytes, "free for users"),
                      field("used_bytes", &Space::used_bytes, "in use"),
                      field("inodes_total", &Space::inodes_total, "0 where inodes are not counted"),
                      field("inodes_free", &Space::inodes_free, "inodes free")};
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

  static constexpr auto fields() {
    return std::tuple{field("point", &Mount::point, "mount point"),
                      field("type", &Mount::type, "file system type"),
                      field("source", &Mount::source, "device or server"),
                      field("read_only", &Mount::read_only, "mounted read-only"),
                      field("hung", &Mount::hung, "statfs did not answer in its own deadline"),
                      field("space", &Mount::space, "what statfs says")};
  }

  bool operator==(const Mount&) const = default;
};

struct Mounts {
  std::vector<Mount> mounts;  // in the order of proc/mounts; the last of one point is on top

  static constexpr auto fields() {
    return std::tuple{
        field("mounts", &Mounts::mounts, "file systems that hold data; not proc, sysfs, cgroup …")};
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

  static constexpr auto fields() {
    return std::tuple{
        field("name", &Nvme::name, "namespace, as nvme0n1"),
        field("controller", &Nvme::controller, "controller, as nvme0"),
        field("model", &Nvme::model, "model"),
        field("state", &Nvme::state, "state of the controller: live, resetting, dead"),
        field("size_bytes", &Nvme::size_bytes, "size"),
        field("read_only", &Nvme::read_only, "the kernel allows reads only"),
        field("address", &Nvme::address, "PCI address of the controller")};
  }

  bool operator==(const Nvme&) const = default;
};

struct Raid {
  std::string name;  // md0
  Fact<std::string> level;
  Fact<std::string> state;  // array_state: clean, active, readonly, inactive …
  Fact<unsigned> disks;
  Fact<unsigned> degraded;  // missing members; raid0 has no such file: absent

  static constexpr auto fields() {
    return std::tuple{field("name", &Raid::name, "array, as md0"),
                      field("level", &Raid::level, "raid0, raid1 …"),
                      field("state", &Raid::state, "array_state of the kernel"),
                      field("disks", &Raid::disks, "members the array should have"),
                      field("degraded", &Raid::degraded, "members missing")};
  }

  bool operator==(const Raid&) const = default;
};

struct Disks {
  std::vector<Nvme> nvme;                     // local namespaces (PCIe), not fabrics
  std::vector<std::string> dead_controllers;  // nvme controllers without any namespace: their names
  std::vector<Raid> raid;

  static constexpr auto fields() {
    return std::tuple{
        field("nvme", &Disks::nvme, "local NVMe namespaces"),
        field("dead_controllers", &Disks::dead_controllers, "NVMe controllers without a namespace"),
        field("raid", &Disks::raid, "md arrays")};
  }

  bool operator==(const Disks&) const = default;
};

struct Task {
  std::uint64_t pid = 0;
  std::string name;
  std::uint64_t start_ticks = 0;  // since boot: with the pid it identifies the task
  std::uint64_t parent = 0;
  Fact<double> stuck_since_s;  // uptime at which an earlier run saw it so already

  static constexpr auto fields() {
    return std::tuple{
        field("pid", &Task::pid, "process id"),
        field("name", &Task::name, "comm"),
        field("start_ticks", &Task::start_ticks, "start time in clock ticks since boot"),
        field("parent", &Task::parent, "pid of the parent"),
        field("stuck_since_s",
              &Task::stuck_since_s,
              "uptime at which an earlier run saw it in this state")};
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

  static constexpr auto fields() {
    return std::tuple{field("load1", &Processes::load1, "load average, 1 minute"),
                      field("load5", &Processes::load5, "5 minutes"),
                      field("load15", &Processes::load15, "15 minutes"),
                      field("running", &Processes::running, "runnable tasks"),
                      field("total", &Processes::total, "all tasks"),
                      field("uninterruptible", &Processes::uninterruptible, "processes in D state"),
                      field("zombies", &Processes::zombies, "processes that nobody waited for")};
  }

  bool operator==(const Processes&) const = default;
};

}  // namespace muster
