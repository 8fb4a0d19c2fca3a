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

  static constexpr auto fields() {
    return std::tuple{field("sockets", &CpuLimits::sockets, "sockets"),
                      field("cores", &CpuLimits::cores, "cores"),
                      field("threads", &CpuLimits::threads, "online logical CPUs"),
                      field("numa_nodes", &CpuLimits::numa_nodes, "NUMA nodes that have CPUs")};
  }
};

struct MemoryLimits {
  Limit<Bytes> total;
  Percent tolerance{};

  static constexpr auto fields() {
    return std::tuple{field("total", &MemoryLimits::total, "expected MemTotal"),
                      field("tolerance", &MemoryLimits::tolerance, "band around it, both ways")};
  }
};

struct MemoryAvailableLimits {
  Limit<Percent> warn_below;

  static constexpr auto fields() {
    return std::tuple{field(
        "warn_below", &MemoryAvailableLimits::warn_below, "MemAvailable, in percent of MemTotal")};
  }
};

struct SwapLimits {
  Limit<Bytes> total;

  static constexpr auto fields() {
    return std::tuple{field("total", &SwapLimits::total, "expected SwapTotal; 0 GiB for none")};
  }
};

struct HugePageLimit {
  Bytes size{};
  Limit<int> count, free;

  static constexpr auto fields() {
    return std::tuple{field("size", &HugePageLimit::size, "size of one page"),
                      field("count", &HugePageLimit::count, "pages configured"),
                      field("free", &HugePageLimit::free, "least number of free pages")};
  }
};

struct HugePagesLimits {
  std::vector<HugePageLimit> pages;

  static constexpr auto fields() {
    return std::tuple{field("pages", &HugePagesLimits::pages, "expected huge pages, by size")};
  }
};

struct EdacLimits {
  Limit<double> corrected_warn_above_per_hour;

  static constexpr auto fields() {
    return std::tuple{field("corrected_warn_above_per_hour",
                            &EdacLimits::corrected_warn_above_per_hour,
                            "corrected memory errors per hour")};
  }
};

// One class of lines of the kernel log. A pattern is text that must occur in the message, where `*`
// stands for anything, all else for itself; a leading `^` ties it to the message's start, so that
// the kernel's own words come before any process name. The first pattern that matches decides.
struct KernelLogPattern {
  std::string pattern, kind, remedy;

  static constexpr auto fields() {
    return std::tuple{field("pattern",
                            &KernelLogPattern::pattern,
                            "text with * for anything; ^ first for the start of the message"),
                      field("kind", &KernelLogPattern::kind, "class: see kinds"),
                      field("remedy", &KernelLogPattern::remedy, "what to do")};
  }
};

struct KernelLogLimits {
  Seconds window{}, coalesce{};
  std::map<std::string, std::string> kinds;
  std::vector<KernelLogPattern> patterns;

  static constexpr auto fields() {
    return std::tuple{
        field("window", &KernelLogLimits::window, "how far back, never beyond the boot"),
        field("coalesce",
              &KernelLogLimits::coalesce,
              "lines of one class and device this near are one incident"),
        field("kinds", &KernelLogLimits::kinds, "class to outcome: fail, warn or pass"),
        field("patterns", &KernelLogLimits::patterns, "what each line means")};
  }
};

struct KernelLimits {
  Limit<std::string> release;
  Words required, forbidden;

  static constexpr auto fields() {
    return std::tuple{
        field("release", &KernelLimits::release, "kernel release, a glob"),
        field("required", &KernelLimits::required, "parameters the command line must have, globs"),
        field("forbidden", &KernelLimits::forbidden, "parameters it must not have, globs")};
  }
};

struct SysctlLimits {
  std::map<std::string, std::string> values;
  Words transparent_hugepage;

  static constexpr auto fields() {
    return std::tuple{
        field(
            "values", &SysctlLimits::values, "key to expected value; alternatives separated by |"),
        field("transparent_hugepage",
              &SysctlLimits::transparent_hugepage,
              "allowed: always, madvise, never")};
  }
};

struct ResourceLimits {
  bool memlock_unlimited = false;
  Limit<int> open_files_min;

  static constexpr auto fields() {
    return std::tuple{
        field("memlock_unlimited",
              &ResourceLimits::memlock_unlimited,
              "locked memory must be unlimited"),
        field("open_files_min", &ResourceLimits::open_files_min, "least soft limit of open files")};
  }
};

struct ClockLimits {
  bool synchronised = false;
  Limit<Seconds> error_warn_above;
  Words clocksource;

  static constexpr auto fields() {
    return std::tuple{
        field("synchronised", &ClockLimits::synchronised, "the clock must be disciplined"),
        field("error_warn_above", &ClockLimits::error_warn_above, "estimated error"),
        field("clocksource", &ClockLimits::clocksource, "allowed clocksources; empty for any")};
  }
};

struct LoadLimits {
  Limit<double> warn_above_per_core, running_warn_above_per_core;

  static constexpr auto fields() {
    return std::tuple{field("warn_above_per_core",
                            &LoadLimits::warn_above_per_core,
                            "5-minute load average per core"),
                      field("running_warn_above_per_core",
                            &LoadLimits::running_warn_above_per_core,
                            "runnable tasks per core")};
  }
};

struct StuckTaskLimits {
  Limit<Seconds> uninterruptible_for;
  Limit<int> zombies_warn_above;

  static constexpr auto fields() {
    return std::tuple{
        field("uninterruptible_for",
              &StuckTaskLimits::uninterruptible_for,
              "longest time in D state"),
        field("zombies_warn_above", &StuckTaskLimits::zombies_warn_above, "number of zombies")};
  }
};

struct RequiredMount {
  std::string point, type;
  bool writable = false;

  static constexpr auto fields() {
    return std::tuple{
        field("point", &RequiredMount::point, "mount point"),
        field("type", &RequiredMount::type, "file system type, a glob; empty for any"),
        field("writable", &RequiredMount::writable, "must not be read-only")};
  }
};

struct MountLimits {
  std::vector<RequiredMount> required;
  Seconds answer_within{};

  static constexpr auto fields() {
    return std::tuple{
        field("required", &MountLimits::required, "mounts that must be there"),
        field("answer_within", &MountLimits::answer_within, "deadline of one statfs")};
  }
};

struct DiskLimits {
  Limit<Percent> warn_above, fail_above, inodes_warn_above, inodes_fail_above;
  Words ignore;

  static constexpr auto fields() {
    return std::tuple{field("warn_above", &DiskLimits::warn_above, "space in use"),
                      field("fail_above", &DiskLimits::fail_above, "space in use"),
                      field("inodes_warn_above", &DiskLimits::inodes_warn_above, "inodes in use"),
                      field("inodes_fail_above", &DiskLimits::inodes_fail_above, "inodes in use"),
                      field("ignore",
                            &DiskLimits::ignore,
                            "mount points or file system types to leave out, globs")};
  }
};

struct NvmeLimits {
  Limit<int> count;
  Limit<Bytes> size;
  Percent tolerance{};

  static constexpr auto fields() {
    return std::tuple{
        field("count", &NvmeLimits::count, "local NVMe devices"),
        field("size", &NvmeLimits::size, "size of each"),
        field("tolerance", &NvmeLimits::tolerance, "band around the size, both ways")};
  }
};

struct ServiceLimits {
  Words active, inactive;

  static constexpr auto fields() {
    return std::tuple{field("active", &ServiceLimits::active, "units that must be active"),
                      field("inactive", &ServiceLimits::inactive, "units that must not be active")};
  }
};

struct ModuleLimits {
  Words required, forbidden;

  static constexpr auto fields() {
    return std::tuple{
        field("required", &ModuleLimits::required, "modules that must be loaded; a|b for either"),
        field("forbidden", &ModuleLimits::forbidden, "modules that must not be loaded")};
  }
};

struct EthernetInterface {
  std::string name;
  Limit<BitsPerSecond> speed;

  static constexpr auto fields() {
    return std::tuple{field("name", &EthernetInterface::name, "interface or verbs name, a glob"),
                      field("speed", &EthernetInterface::speed, "expected speed; not set for any")};
  }
};

struct EthernetLimits {
  std::vector<EthernetInterface> interfaces;

  static constexpr auto fields() {
    return std::tuple{
        field("interfaces", &EthernetLimits::interfaces, "interfaces that must be up")};
  }
};

struct ProgramLimits {
  Words executable, present;

  static constexpr auto fields() {
    return std::tuple{
        field(
            "executable", &ProgramLimits::executable, "programs that must exist and be executable"),
        field("present", &ProgramLimits::present, "files that must exist")};
  }
};

struct ContainerStorageLimits {
  Words paths;
  Limit<Bytes> free_min;

  static constexpr auto fields() {
    return std::tuple{
        field("paths", &ContainerStorageLimits::paths, "directories for images and containers"),
        field("free_min", &ContainerStorageLimits::free_min, "least free space of each")};
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

  static constexpr auto fields() {
    return std::tuple{field("cpu", &HostLimits::cpu, ""),
                      field("memory", &HostLimits::memory, ""),
                      field("memory_available", &HostLimits::memory_available, ""),
                      field("swap", &HostLimits::swap, ""),
                      field("hugepages", &HostLimits::hugepages, ""),
                      field("edac", &HostLimits::edac, ""),
                      field("kernel_log", &HostLimits::kernel_log, ""),
                      field("kernel", &HostLimits::kernel, ""),
                      field("sysctl", &HostLimits::sysctl, ""),
                      field("limits", &HostLimits::limits, ""),
                      field("clock", &HostLimits::clock, ""),
                      field("load", &HostLimits::load, ""),
                      field("stuck_tasks", &HostLimits::stuck_tasks, ""),
                      field("mounts", &HostLimits::mounts, ""),
                      field("disk", &HostLimits::disk, ""),
                      field("nvme", &HostLimits::nvme, ""),
                      field("services", &HostLimits::services, ""),
                      field("modules", &HostLimits::modules, ""),
                      field("ethernet", &HostLimits::ethernet, ""),
                      field("programs", &HostLimits::programs, ""),
                      field("container_storage", &HostLimits::container_storage, "")};
  }
};

}  // namespace muster
