// SPDX-License-Identifier: Apache-2.0
// The limits of the checks host.*: one struct per check, with its keys as they stand in a profile
// below `host.<name>`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limit.hpp"

namespace muster {

struct CpuLimits {
  Limit<int> sockets, cores, threads, numa_nodes;

  template <class Self = CpuLimits>
  static constexpr auto fields() {
    return std::tuple{field("sockets", &Self::sockets, "sockets"),
                      field("cores", &Self::cores, "cores"),
                      field("threads", &Self::threads, "online logical CPUs"),
                      field("numa_nodes", &Self::numa_nodes, "NUMA nodes that have CPUs")};
  }
};

struct MemoryLimits {
  Limit<Bytes> total;
  Percent tolerance{};

  template <class Self = MemoryLimits>
  static constexpr auto fields() {
    return std::tuple{field("total", &Self::total, "expected MemTotal"),
                      field("tolerance", &Self::tolerance, "band around it, both ways")};
  }
};

struct MemoryAvailableLimits {
  Limit<Percent> warn_below;

  template <class Self = MemoryAvailableLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("warn_below", &Self::warn_below, "MemAvailable, in percent of MemTotal")};
  }
};

struct SwapLimits {
  Limit<Bytes> total;

  template <class Self = SwapLimits>
  static constexpr auto fields() {
    return std::tuple{field("total", &Self::total, "expected SwapTotal; 0 GiB for none")};
  }
};

struct HugePageLimit {
  Bytes size{};
  Limit<int> count, free;

  template <class Self = HugePageLimit>
  static constexpr auto fields() {
    return std::tuple{field("size", &Self::size, "size of one page"),
                      field("count", &Self::count, "pages configured"),
                      field("free", &Self::free, "least number of free pages")};
  }
};

struct HugePagesLimits {
  std::vector<HugePageLimit> pages;

  template <class Self = HugePagesLimits>
  static constexpr auto fields() {
    return std::tuple{field("pages", &Self::pages, "expected huge pages, by size")};
  }
};

struct EdacLimits {
  Limit<double> corrected_warn_above_per_hour;

  template <class Self = EdacLimits>
  static constexpr auto fields() {
    return std::tuple{field("corrected_warn_above_per_hour",
                            &Self::corrected_warn_above_per_hour,
                            "corrected memory errors per hour")};
  }
};

// One class of lines of the kernel log. A pattern is text that must occur in the message, where `*`
// stands for anything, all else for itself; a leading `^` ties it to the message's start, so that
// the kernel's own words come before any process name. The first pattern that matches decides.
struct KernelLogPattern {
  std::string pattern, kind, remedy;

  template <class Self = KernelLogPattern>
  static constexpr auto fields() {
    return std::tuple{field("pattern",
                            &Self::pattern,
                            "text with * for anything; ^ first for the start of the message"),
                      field("kind", &Self::kind, "class: see kinds"),
                      field("remedy", &Self::remedy, "what to do")};
  }
};

struct KernelLogLimits {
  Seconds window{}, coalesce{};
  std::map<std::string, std::string> kinds;
  std::vector<KernelLogPattern> patterns;

  template <class Self = KernelLogLimits>
  static constexpr auto fields() {
    return std::tuple{field("window", &Self::window, "how far back, never beyond the boot"),
                      field("coalesce",
                            &Self::coalesce,
                            "lines of one class and device this near are one incident"),
                      field("kinds", &Self::kinds, "class to outcome: fail, warn or pass"),
                      field("patterns", &Self::patterns, "what each line means")};
  }
};

struct KernelLimits {
  Limit<std::string> release;
  Words required, forbidden;

  template <class Self = KernelLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("release", &Self::release, "kernel release, a glob"),
        field("required", &Self::required, "parameters the command line must have, globs"),
        field("forbidden", &Self::forbidden, "parameters it must not have, globs")};
  }
};

struct SysctlLimits {
  std::map<std::string, std::string> values;
  Words transparent_hugepage;

  template <class Self = SysctlLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("values", &Self::values, "key to expected value; alternatives separated by |"),
        field("transparent_hugepage",
              &Self::transparent_hugepage,
              "allowed: always, madvise, never")};
  }
};

struct ResourceLimits {
  bool memlock_unlimited = false;
  Limit<int> open_files_min;

  template <class Self = ResourceLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("memlock_unlimited", &Self::memlock_unlimited, "locked memory must be unlimited"),
        field("open_files_min", &Self::open_files_min, "least soft limit of open files")};
  }
};

struct ClockLimits {
  bool synchronised = false;
  Limit<Seconds> error_warn_above;
  Words clocksource;

  template <class Self = ClockLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("synchronised", &Self::synchronised, "the clock must be disciplined"),
        field("error_warn_above", &Self::error_warn_above, "estimated error"),
        field("clocksource", &Self::clocksource, "allowed clocksources; empty for any")};
  }
};

struct LoadLimits {
  Limit<double> warn_above_per_core, running_warn_above_per_core;

  template <class Self = LoadLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("warn_above_per_core", &Self::warn_above_per_core, "5-minute load average per core"),
        field("running_warn_above_per_core",
              &Self::running_warn_above_per_core,
              "runnable tasks per core")};
  }
};

struct StuckTaskLimits {
  Limit<Seconds> uninterruptible_for;
  Limit<int> zombies_warn_above;

  template <class Self = StuckTaskLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("uninterruptible_for", &Self::uninterruptible_for, "longest time in D state"),
        field("zombies_warn_above", &Self::zombies_warn_above, "number of zombies")};
  }
};

struct RequiredMount {
  std::string point, type;
  bool writable = false;

  template <class Self = RequiredMount>
  static constexpr auto fields() {
    return std::tuple{field("point", &Self::point, "mount point"),
                      field("type", &Self::type, "file system type, a glob; empty for any"),
                      field("writable", &Self::writable, "must not be read-only")};
  }
};

struct MountLimits {
  std::vector<RequiredMount> required;
  Seconds answer_within{};

  template <class Self = MountLimits>
  static constexpr auto fields() {
    return std::tuple{field("required", &Self::required, "mounts that must be there"),
                      field("answer_within", &Self::answer_within, "deadline of one statfs")};
  }
};

struct DiskLimits {
  Limit<Percent> warn_above, fail_above, inodes_warn_above, inodes_fail_above;
  Words ignore;

  template <class Self = DiskLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("warn_above", &Self::warn_above, "space in use"),
        field("fail_above", &Self::fail_above, "space in use"),
        field("inodes_warn_above", &Self::inodes_warn_above, "inodes in use"),
        field("inodes_fail_above", &Self::inodes_fail_above, "inodes in use"),
        field("ignore", &Self::ignore, "mount points or file system types to leave out, globs")};
  }
};

struct NvmeLimits {
  Limit<int> count;
  Limit<Bytes> size;
  Percent tolerance{};

  template <class Self = NvmeLimits>
  static constexpr auto fields() {
    return std::tuple{field("count", &Self::count, "local NVMe devices"),
                      field("size", &Self::size, "size of each"),
                      field("tolerance", &Self::tolerance, "band around the size, both ways")};
  }
};

struct ServiceLimits {
  Words active, inactive;

  template <class Self = ServiceLimits>
  static constexpr auto fields() {
    return std::tuple{field("active", &Self::active, "units that must be active"),
                      field("inactive", &Self::inactive, "units that must not be active")};
  }
};

struct ModuleLimits {
  Words required, forbidden;

  template <class Self = ModuleLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("required", &Self::required, "modules that must be loaded; a|b for either"),
        field("forbidden", &Self::forbidden, "modules that must not be loaded")};
  }
};

struct EthernetInterface {
  std::string name;
  Limit<BitsPerSecond> speed;
  bool rdma = false;

  template <class Self = EthernetInterface>
  static constexpr auto fields() {
    return std::tuple{field("name", &Self::name, "interface or verbs name, a glob"),
                      field("speed", &Self::speed, "expected speed; not set for any"),
                      field("rdma",
                            &Self::rdma,
                            "an Ethernet interface of any RDMA device will do, whatever its name")};
  }
};

struct EthernetLimits {
  std::vector<EthernetInterface> interfaces;

  template <class Self = EthernetLimits>
  static constexpr auto fields() {
    return std::tuple{field("interfaces", &Self::interfaces, "interfaces that must be up")};
  }
};

struct ProgramLimits {
  Words executable, present;

  template <class Self = ProgramLimits>
  static constexpr auto fields() {
    return std::tuple{
        field("executable", &Self::executable, "programs that must exist and be executable"),
        field("present", &Self::present, "files that must exist")};
  }
};

struct ContainerStorageLimits {
  Words paths;
  Limit<Bytes> free_min;

  template <class Self = ContainerStorageLimits>
  static constexpr auto fields() {
    return std::tuple{field("paths", &Self::paths, "directories for images and containers"),
                      field("free_min", &Self::free_min, "least free space of each")};
  }
};

struct HostLimits {
  CpuLimits cpu;
  MemoryLimits memory;
  MemoryAvailableLimits memory_available;
  SwapLimits swap;
  HugePagesLimits hugepages;
  EdacLimits edac;
  KernelLogLimits kernel_log;
  KernelLimits kernel;
  SysctlLimits sysctl;
  ResourceLimits limits;
  ClockLimits clock;
  LoadLimits load;
  StuckTaskLimits stuck_tasks;
  MountLimits mounts;
  DiskLimits disk;
  NvmeLimits nvme;
  ServiceLimits services;
  ModuleLimits modules;
  EthernetLimits ethernet;
  ProgramLimits programs;
  ContainerStorageLimits container_storage;

  template <class Self = HostLimits>
  static constexpr auto fields() {
    return std::tuple{field("cpu", &Self::cpu, ""),
                      field("memory", &Self::memory, ""),
                      field("memory_available", &Self::memory_available, ""),
                      field("swap", &Self::swap, ""),
                      field("hugepages", &Self::hugepages, ""),
                      field("edac", &Self::edac, ""),
                      field("kernel_log", &Self::kernel_log, ""),
                      field("kernel", &Self::kernel, ""),
                      field("sysctl", &Self::sysctl, ""),
                      field("limits", &Self::limits, ""),
                      field("clock", &Self::clock, ""),
                      field("load", &Self::load, ""),
                      field("stuck_tasks", &Self::stuck_tasks, ""),
                      field("mounts", &Self::mounts, ""),
                      field("disk", &Self::disk, ""),
                      field("nvme", &Self::nvme, ""),
                      field("services", &Self::services, ""),
                      field("modules", &Self::modules, ""),
                      field("ethernet", &Self::ethernet, ""),
                      field("programs", &Self::programs, ""),
                      field("container_storage", &Self::container_storage, "")};
  }
};

}  // namespace muster
