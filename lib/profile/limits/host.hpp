// SPDX-License-Identifier: Apache-2.0
// The limits of the checks host.*, below `host` in a profile.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

// A class of kernel log lines; the first matching pattern decides. A pattern is text within the
// message, with `*` for anything. A leading `^` anchors it to the start, so that it matches the
// kernel's text and not a process name.
struct KernelLogPattern {
  MUSTER_DESCRIBED(KernelLogPattern);
  MUSTER_FIELD(std::string, pattern,
               "text with * for anything; ^ first for the start of the message");
  MUSTER_FIELD(std::string, kind, "class: see kinds");
  MUSTER_FIELD(Remedy, remedy, "what to do") = Remedy::none;
};

struct KernelLogLimits {
  MUSTER_DESCRIBED(KernelLogLimits);
  MUSTER_FIELD(Seconds, window, "how far back, at most to the boot") = {};
  MUSTER_FIELD(Seconds, coalesce,
               "lines of one class and device within this time are one incident") = {};
  MUSTER_FIELD(ByName<Outcome>, kinds, "class to outcome: fail, warn or pass");
  MUSTER_FIELD(std::vector<KernelLogPattern>, patterns, "what each line means");
};

struct CpuLimits {
  MUSTER_DESCRIBED(CpuLimits);
  MUSTER_FIELD(Limit<int>, sockets, "sockets");
  MUSTER_FIELD(Limit<int>, cores, "cores");
  MUSTER_FIELD(Limit<int>, threads, "online logical CPUs");
  MUSTER_FIELD(Limit<int>, numa_nodes, "NUMA nodes that have CPUs");
};

struct LoadLimits {
  MUSTER_DESCRIBED(LoadLimits);
  MUSTER_FIELD(Limit<double>, warn_above_per_core, "5-minute load average per core");
  MUSTER_FIELD(Limit<double>, running_warn_above_per_core, "runnable tasks per core");
};

struct MemoryLimits {
  MUSTER_DESCRIBED(MemoryLimits);
  MUSTER_FIELD(Limit<Bytes>, total, "expected MemTotal");
  MUSTER_FIELD(Percent, tolerance, "allowed deviation, both ways") = {};
};

struct MemoryAvailableLimits {
  MUSTER_DESCRIBED(MemoryAvailableLimits);
  MUSTER_FIELD(Limit<Percent>, warn_below, "MemAvailable, in percent of MemTotal");
};

struct SwapLimits {
  MUSTER_DESCRIBED(SwapLimits);
  MUSTER_FIELD(Limit<Bytes>, total, "expected SwapTotal; 0 GiB for none");
};

struct HugePageLimit {
  MUSTER_DESCRIBED(HugePageLimit);
  MUSTER_FIELD(Bytes, size, "size of one page") = {};
  MUSTER_FIELD(Limit<int>, count, "pages configured");
  MUSTER_FIELD(Limit<int>, free, "minimum number of free pages");
};

struct HugePagesLimits {
  MUSTER_DESCRIBED(HugePagesLimits);
  MUSTER_FIELD(std::vector<HugePageLimit>, pages, "expected huge pages, by size");
};

struct EdacLimits {
  MUSTER_DESCRIBED(EdacLimits);
  MUSTER_FIELD(Limit<double>, corrected_warn_above_per_hour, "corrected memory errors per hour");
};

struct KernelLimits {
  MUSTER_DESCRIBED(KernelLimits);
  MUSTER_FIELD(Limit<std::string>, release, "kernel release, a glob");
  MUSTER_FIELD(Words, required, "parameters the command line must have, globs");
  MUSTER_FIELD(Words, forbidden, "parameters it must not have, globs");
};

enum class HugePageMode { always, madvise, never };
MUSTER_WORDS(HugePageMode, "always", "madvise", "never");

struct SysctlLimits {
  MUSTER_DESCRIBED(SysctlLimits);
  MUSTER_FIELD(ByName<std::string>, values, "key to expected value; alternatives separated by |");
  MUSTER_FIELD(std::vector<HugePageMode>, transparent_hugepage, "allowed: always, madvise, never");
};

struct ModuleLimits {
  MUSTER_DESCRIBED(ModuleLimits);
  MUSTER_FIELD(Words, required, "modules that must be loaded; a|b for either");
  MUSTER_FIELD(Words, forbidden, "modules that must not be loaded");
};

struct ClockLimits {
  MUSTER_DESCRIBED(ClockLimits);
  MUSTER_FIELD(bool, synchronised, "the clock must be disciplined") = false;
  MUSTER_FIELD(Limit<Seconds>, error_warn_above, "estimated error");
  MUSTER_FIELD(Words, clocksource, "allowed clocksources; empty for any");
};

struct ResourceLimits {
  MUSTER_DESCRIBED(ResourceLimits);
  MUSTER_FIELD(bool, memlock_unlimited, "locked memory must be unlimited") = false;
  MUSTER_FIELD(Limit<int>, open_files_min, "minimum soft limit of open files");
};

struct StuckTaskLimits {
  MUSTER_DESCRIBED(StuckTaskLimits);
  MUSTER_FIELD(Limit<Seconds>, uninterruptible_for, "longest allowed time in state D");
  MUSTER_FIELD(Words, waits_of_users,
               "kernel functions (wchan), globs, in which a user can make a task wait: warns only");
  MUSTER_FIELD(Limit<int>, zombies_warn_above, "number of zombies");
};

struct RequiredMount {
  MUSTER_DESCRIBED(RequiredMount);
  MUSTER_FIELD(std::string, point, "mount point");
  MUSTER_FIELD(std::string, type, "file system type, a glob; empty for any");
  MUSTER_FIELD(bool, writable, "must not be read-only") = false;
};

struct MountLimits {
  MUSTER_DESCRIBED(MountLimits);
  MUSTER_FIELD(std::vector<RequiredMount>, required, "mounts that must be there");
  MUSTER_FIELD(Seconds, answer_within, "deadline of one statfs") = {};
};

struct DiskLimits {
  MUSTER_DESCRIBED(DiskLimits);
  MUSTER_FIELD(Limit<Percent>, warn_above, "space in use");
  MUSTER_FIELD(Limit<Percent>, fail_above, "space in use");
  MUSTER_FIELD(Limit<Percent>, inodes_warn_above, "inodes in use");
  MUSTER_FIELD(Limit<Percent>, inodes_fail_above, "inodes in use");
  MUSTER_FIELD(Words, ignore, "mount points or file system types to leave out, globs");
};

struct NvmeLimits {
  MUSTER_DESCRIBED(NvmeLimits);
  MUSTER_FIELD(Limit<int>, count, "local NVMe devices");
  MUSTER_FIELD(Limit<Bytes>, size, "size of each");
  MUSTER_FIELD(Percent, tolerance, "allowed deviation of the size, both ways") = {};
};

struct ProgramLimits {
  MUSTER_DESCRIBED(ProgramLimits);
  MUSTER_FIELD(Words, executable, "programs that must exist and be executable");
  MUSTER_FIELD(Words, present, "files that must exist");
};

struct ContainerStorageLimits {
  MUSTER_DESCRIBED(ContainerStorageLimits);
  MUSTER_FIELD(Words, paths, "directories for images and containers");
  MUSTER_FIELD(Limit<Bytes>, free_min, "minimum free space of each");
  MUSTER_FIELD(Limit<int>, inodes_free_min, "minimum number of free inodes of each");
};

struct ServiceLimits {
  MUSTER_DESCRIBED(ServiceLimits);
  MUSTER_FIELD(Words, active, "units that must be active");
  MUSTER_FIELD(Words, inactive, "units that must not be active");
};

struct EthernetInterface {
  MUSTER_DESCRIBED(EthernetInterface);
  MUSTER_FIELD(std::string, name, "interface or verbs name, a glob");
  MUSTER_FIELD(Limit<BitsPerSecond>, speed, "expected speed; unset for any");
  MUSTER_FIELD(bool, rdma,
               "an Ethernet interface of any RDMA device counts, whatever its name") = false;
};

struct EthernetLimits {
  MUSTER_DESCRIBED(EthernetLimits);
  MUSTER_FIELD(std::vector<EthernetInterface>, interfaces, "interfaces that must be up");
};

struct HostLimits {
  MUSTER_DESCRIBED(HostLimits);
  MUSTER_FIELD(CpuLimits, cpu, "");
  MUSTER_FIELD(MemoryLimits, memory, "");
  MUSTER_FIELD(MemoryAvailableLimits, memory_available, "");
  MUSTER_FIELD(SwapLimits, swap, "");
  MUSTER_FIELD(HugePagesLimits, hugepages, "");
  MUSTER_FIELD(EdacLimits, edac, "");
  MUSTER_FIELD(KernelLogLimits, kernel_log, "");
  MUSTER_FIELD(KernelLimits, kernel, "");
  MUSTER_FIELD(SysctlLimits, sysctl, "");
  MUSTER_FIELD(ResourceLimits, limits, "");
  MUSTER_FIELD(ClockLimits, clock, "");
  MUSTER_FIELD(LoadLimits, load, "");
  MUSTER_FIELD(StuckTaskLimits, stuck_tasks, "");
  MUSTER_FIELD(MountLimits, mounts, "");
  MUSTER_FIELD(DiskLimits, disk, "");
  MUSTER_FIELD(NvmeLimits, nvme, "");
  MUSTER_FIELD(ServiceLimits, services, "");
  MUSTER_FIELD(ModuleLimits, modules, "");
  MUSTER_FIELD(EthernetLimits, ethernet, "");
  MUSTER_FIELD(ProgramLimits, programs, "");
  MUSTER_FIELD(ContainerStorageLimits, container_storage, "");
};

struct EnvNcclLimits {
  MUSTER_DESCRIBED(EnvNcclLimits);
  MUSTER_FIELD(ByName<std::string>, require, "variable to expected value");
  MUSTER_FIELD(ByName<std::string>, harmful, "variable to a harmful value, a glob");
};

struct EnvLibraryLimits {
  MUSTER_DESCRIBED(EnvLibraryLimits);
  MUSTER_FIELD(Words, required, "sonames that must load");
  MUSTER_FIELD(Words, optional, "sonames that are recorded");
  MUSTER_FIELD(Limit<std::string>, nccl_min, "oldest NCCL version");
};

struct EnvLimits {
  MUSTER_DESCRIBED(EnvLimits);
  MUSTER_FIELD(EnvNcclLimits, nccl, "");
  MUSTER_FIELD(EnvLibraryLimits, libraries, "");
};

struct MusterProbeLimits {
  MUSTER_DESCRIBED(MusterProbeLimits);
  MUSTER_FIELD(Words, fatal, "probes whose time-out fails the node");
};

struct MusterLimits {
  MUSTER_DESCRIBED(MusterLimits);
  MUSTER_FIELD(MusterProbeLimits, probes, "");
};

}  // namespace muster
