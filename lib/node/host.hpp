// SPDX-License-Identifier: Apache-2.0
// Facts about a host without its PCI devices: machine, kernel, storage, processes and environment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

// Why Identity::container is absent outside of any container.
inline constexpr std::string_view kNoContainer = "no sign of a container";

// The container that muster runs in.
struct Container {
  MUSTER_DESCRIBED(Container);
  MUSTER_FIELD(std::vector<std::string>, recognised_by, "signs of a container");
  MUSTER_FIELD(std::vector<std::string>, namespaces,
               "namespaces not known to be the node's: mnt, pid, net, ipc, uts");
};

struct Identity {
  MUSTER_DESCRIBED(Identity);
  MUSTER_FIELD(std::string, hostname, "the name of the node, from proc/sys/kernel/hostname");
  MUSTER_FIELD(Fact<std::string>, boot_id, "changes with every boot");
  MUSTER_FIELD(Fact<double>, uptime_s, "seconds since boot, when the snapshot was taken");
  MUSTER_FIELD(Fact<std::string>, dmi_vendor, "DMI sys_vendor");
  MUSTER_FIELD(Fact<std::string>, dmi_product, "DMI product_name");
  MUSTER_FIELD(Fact<std::string>, chassis_asset_tag,
               "DMI chassis asset tag; the same on every Azure VM");
  MUSTER_FIELD(bool, hypervisor, "the processor reports a hypervisor") = false;
  MUSTER_FIELD(bool, foreign_root, "observed below --root, without live interfaces") = false;
  MUSTER_FIELD(Fact<std::string>, physical_host,
               "Azure: name of the physical host, from the Hyper-V key-value pool");
  MUSTER_FIELD(Fact<std::string>, instance_size,
               "the cloud's name of the instance size, from cloud-init's instance data");
  MUSTER_FIELD(Fact<Container>, container,
               "the container that muster observed from; absent on the node itself");
};

struct NumaNode {
  MUSTER_DESCRIBED(NumaNode);
  MUSTER_FIELD(unsigned, id, "the kernel's number") = 0;
  MUSTER_FIELD(Fact<std::string>, cpus, "list of its CPUs; empty for memory only");
  MUSTER_FIELD(Fact<std::uint64_t>, memory_bytes, "MemTotal of the node");
  MUSTER_FIELD(Fact<std::uint64_t>, page_cache_bytes, "FilePages of the node");
};

struct Cpu {
  MUSTER_DESCRIBED(Cpu);
  MUSTER_FIELD(Fact<unsigned>, sockets, "sockets with an online CPU");
  MUSTER_FIELD(Fact<unsigned>, cores, "cores with an online CPU");
  MUSTER_FIELD(Fact<unsigned>, threads, "online logical CPUs");
  MUSTER_FIELD(Fact<std::string>, offline, "present CPUs that are not online, as a list");
  MUSTER_FIELD(Fact<std::string>, model, "model name of proc/cpuinfo");
  MUSTER_FIELD(Fact<std::vector<NumaNode>>, numa_nodes, "NUMA nodes that are online");
};

struct HugePages {
  MUSTER_DESCRIBED(HugePages);
  MUSTER_FIELD(std::uint64_t, size_kib, "size of one page in KiB") = 0;
  MUSTER_FIELD(Fact<std::uint64_t>, total, "pages configured");
  MUSTER_FIELD(Fact<std::uint64_t>, free, "pages free");
};

struct Memory {
  MUSTER_DESCRIBED(Memory);
  MUSTER_FIELD(Fact<std::uint64_t>, total_bytes, "MemTotal");
  MUSTER_FIELD(Fact<std::uint64_t>, available_bytes, "MemAvailable");
  MUSTER_FIELD(Fact<std::uint64_t>, swap_total_bytes, "SwapTotal");
  MUSTER_FIELD(Fact<std::vector<HugePages>>, huge_pages, "huge pages by size");
};

struct Placement {
  MUSTER_DESCRIBED(Placement);
  MUSTER_FIELD(std::string, address, "PCI address");
  MUSTER_FIELD(std::string, os_device, "mlx5_ib0, ib0, nvme0n1; empty for GPUs");
  MUSTER_FIELD(std::vector<unsigned>, numa_nodes, "NUMA nodes it is local to, according to hwloc");
  MUSTER_FIELD(std::vector<std::string>, bridges, "bridges above it, nearest last");
};

struct Topology {
  MUSTER_DESCRIBED(Topology);
  MUSTER_FIELD(std::vector<Placement>, devices, "GPUs, HCAs and NVMe disks, by address");
};

struct Nvme {
  MUSTER_DESCRIBED(Nvme);
  MUSTER_FIELD(std::string, name, "namespace, as nvme0n1");
  MUSTER_FIELD(std::string, controller, "controller, as nvme0");
  MUSTER_FIELD(Fact<std::string>, model, "model");
  MUSTER_FIELD(Fact<std::string>, firmware, "revision of the firmware");
  MUSTER_FIELD(Fact<std::string>, state, "state of the controller: live, resetting, dead");
  MUSTER_FIELD(Fact<std::uint64_t>, size_bytes, "size");
  MUSTER_FIELD(Fact<bool>, read_only, "the kernel allows reads only");
  MUSTER_FIELD(Fact<std::string>, address, "PCI address of the controller");
  MUSTER_FIELD(Fact<double>, link_speed_gts, "speed of its PCIe link in GT/s");
  MUSTER_FIELD(Fact<unsigned>, link_width, "lanes of its PCIe link");
};

struct Raid {
  MUSTER_DESCRIBED(Raid);
  MUSTER_FIELD(std::string, name, "array, as md0");
  MUSTER_FIELD(Fact<std::string>, level, "raid0, raid1 …");
  MUSTER_FIELD(Fact<std::string>, state, "array_state of the kernel");
  MUSTER_FIELD(Fact<unsigned>, disks, "members the array should have");
  MUSTER_FIELD(Fact<unsigned>, degraded, "members missing; absent for raid0");
};

// A block device on top of another one or a file: a loop device, or one of the device mapper.
struct StackedDevice {
  MUSTER_DESCRIBED(StackedDevice);
  MUSTER_FIELD(std::string, name, "as loop3 or dm-5");
  MUSTER_FIELD(std::string, file, "disk image of a loop device; empty for none");
  MUSTER_FIELD(std::vector<std::string>, on, "devices below it");
};

struct Disks {
  MUSTER_DESCRIBED(Disks);
  MUSTER_FIELD(std::vector<Nvme>, nvme, "local NVMe namespaces, without fabrics");
  MUSTER_FIELD(std::vector<std::string>, dead_controllers, "NVMe controllers without a namespace");
  MUSTER_FIELD(std::vector<Raid>, raid, "md arrays");
  MUSTER_FIELD(Fact<std::vector<StackedDevice>>, stacked,
               "loop devices in use and devices of the device mapper");
};

struct Space {
  MUSTER_DESCRIBED(Space);
  MUSTER_FIELD(std::uint64_t, total_bytes, "size") = 0;
  MUSTER_FIELD(std::uint64_t, available_bytes, "free for users") = 0;
  MUSTER_FIELD(std::uint64_t, used_bytes, "in use") = 0;
  MUSTER_FIELD(std::uint64_t, inodes_total, "0 if inodes are not counted") = 0;
  MUSTER_FIELD(std::uint64_t, inodes_free, "inodes free") = 0;
};

struct Mount {
  MUSTER_DESCRIBED(Mount);
  MUSTER_FIELD(std::string, point, "mount point");
  MUSTER_FIELD(std::string, type, "file system type");
  MUSTER_FIELD(std::string, source, "device or server");
  MUSTER_FIELD(bool, read_only, "mounted read-only") = false;
  MUSTER_FIELD(Fact<std::vector<std::string>>, options,
               "as proc/mounts lists them: rw, nodev, hard …");
  MUSTER_FIELD(bool, hung, "statfs did not return in time") = false;
  MUSTER_FIELD(
      bool, unasked,
      "muster lacked CPU time, memory or descriptors to query it: says nothing about the mount") =
      false;
  MUSTER_FIELD(Fact<std::string>, user, "user who mounted it, number or name; absent for root");
  MUSTER_FIELD(Fact<std::string>, users_write, "a folder in it that all users can write to");
  MUSTER_FIELD(Fact<double>, hung_for_s,
               "how long a child of an earlier run has hung in it; then it is not tried again");
  MUSTER_FIELD(Fact<Space>, space, "from statfs");
};

// A mount without data: proc, sysfs, cgroup, the automounter's …
struct KernelMount {
  MUSTER_DESCRIBED(KernelMount);
  MUSTER_FIELD(std::string, point, "mount point");
  MUSTER_FIELD(std::string, type, "file system type");
  MUSTER_FIELD(std::string, source, "as in proc/mounts");
  MUSTER_FIELD(bool, read_only, "mounted read-only") = false;
  MUSTER_FIELD(Fact<std::vector<std::string>>, options, "as in proc/mounts");
};

struct Mounts {
  MUSTER_DESCRIBED(Mounts);
  MUSTER_FIELD(std::vector<Mount>, mounts, "file systems with data, in the order of proc/mounts");
  MUSTER_FIELD(std::vector<std::string>, automounts,
               "points at or below which autofs mounts file systems when they are used");
  MUSTER_FIELD(Fact<std::vector<KernelMount>>, kernel,
               "mounts without data, such as proc and sysfs");

  // The mounts by mount point; the last mount hides earlier ones at the same point.
  [[nodiscard]] std::map<std::string_view, const Mount*> on_top() const {
    std::map<std::string_view, const Mount*> uppermost;
    for (const auto& each : mounts) uppermost[each.point] = &each;
    return uppermost;
  }

  // The automount that is in charge of `point`; null for none.
  [[nodiscard]] const std::string* automount_of(std::string_view point) const {
    for (const auto& each : automounts) {
      const auto rest = point.substr(std::min(each.size(), point.size()));
      if (point.starts_with(each) && (rest.empty() || rest.front() == '/')) return &each;
    }
    return nullptr;
  }
};

struct Task {
  MUSTER_DESCRIBED(Task);
  MUSTER_FIELD(std::uint64_t, pid, "process id") = 0;
  MUSTER_FIELD(std::string, name, "comm");
  MUSTER_FIELD(std::uint64_t, start_ticks,
               "start time in clock ticks since boot; identifies the task with pid") = 0;
  MUSTER_FIELD(std::uint64_t, parent, "pid of the parent") = 0;
  MUSTER_FIELD(Fact<std::uint64_t>, switches,
               "context switches of a task in D state, which change when it wakes up");
  MUSTER_FIELD(Fact<std::uint64_t>, user, "real user id");
  MUSTER_FIELD(Fact<std::string>, waits_in,
               "kernel function that a task in D state waits in (wchan)");
  MUSTER_FIELD(bool, of_muster, "a child that an earlier run of muster left behind") = false;
  MUSTER_FIELD(Fact<double>, stuck_since_s, "uptime of the first run that saw it in this sleep");
  MUSTER_FIELD(Fact<double>, awake_at_s, "uptime of the run before, which did not");
};

// The FUSE file systems of one user, in all mount namespaces.
struct FuseUser {
  MUSTER_DESCRIBED(FuseUser);
  MUSTER_FIELD(std::uint64_t, user, "user who mounted them") = 0;
  MUSTER_FIELD(std::uint64_t, waiting, "unanswered requests to them") = 0;
};

struct Processes {
  MUSTER_DESCRIBED(Processes);
  MUSTER_FIELD(Fact<double>, load1, "load average, 1 minute");
  MUSTER_FIELD(Fact<double>, load5, "5 minutes");
  MUSTER_FIELD(Fact<double>, load15, "15 minutes");
  MUSTER_FIELD(Fact<std::uint64_t>, running, "runnable tasks");
  MUSTER_FIELD(Fact<std::uint64_t>, total, "all tasks");
  MUSTER_FIELD(Fact<std::vector<Task>>, uninterruptible, "processes in D state");
  MUSTER_FIELD(Fact<std::vector<Task>>, zombies, "zombie processes");
  MUSTER_FIELD(Fact<std::vector<FuseUser>>, fuse,
               "users, except root, whose FUSE file systems have unanswered requests");
};

struct TimeSync {
  MUSTER_DESCRIBED(TimeSync);
  MUSTER_FIELD(bool, synchronised, "the kernel's clock is disciplined (adjtimex)") = false;
  MUSTER_FIELD(double, estimated_error_s, "estimated error in seconds") = 0;
};

// The process in Limits if none that starts jobs was found.
inline constexpr std::string_view kOwnLimits = "muster itself";

struct Limits {
  MUSTER_DESCRIBED(Limits);
  MUSTER_FIELD(std::string, process, "the process that starts jobs: slurmd (1234)");
  MUSTER_FIELD(Fact<std::string>, memlock_bytes, "soft limit of locked memory: unlimited or bytes");
  MUSTER_FIELD(Fact<std::string>, open_files, "soft limit of open files: unlimited or a number");
};

struct EdacController {
  MUSTER_DESCRIBED(EdacController);
  MUSTER_FIELD(std::string, name, "memory controller, as mc0");
  MUSTER_FIELD(Fact<std::uint64_t>, corrected, "ce_count since the driver was loaded");
  MUSTER_FIELD(Fact<std::uint64_t>, uncorrected, "ue_count since the driver was loaded");
};

// A temperature sensor of the machine, such as a processor's.
struct ThermalZone {
  MUSTER_DESCRIBED(ThermalZone);
  MUSTER_FIELD(std::string, name, "the zone's type");
  MUSTER_FIELD(Fact<double>, now_c, "temperature");
  MUSTER_FIELD(Fact<double>, critical_c, "temperature at which the machine is switched off");
  MUSTER_FIELD(Fact<double>, hot_c, "temperature that the firmware considers hot");
};

struct Kernel {
  MUSTER_DESCRIBED(Kernel);
  MUSTER_FIELD(Fact<std::string>, release, "as uname -r");
  MUSTER_FIELD(Fact<std::string>, command_line, "proc/cmdline");
  MUSTER_FIELD(ByName<Fact<std::string>>, sysctl, "values of the keys in the profile");
  MUSTER_FIELD(Fact<std::string>, transparent_hugepage, "always, madvise or never");
  MUSTER_FIELD(Fact<std::vector<std::string>>, modules,
               "modules loaded or built in, from sys/module");
  MUSTER_FIELD(Limits, limits, "resource limits of the process that starts jobs");
  MUSTER_FIELD(Fact<TimeSync>, clock, "whether the clock is synchronised");
  MUSTER_FIELD(Fact<std::string>, clocksource, "current clocksource");
  MUSTER_FIELD(Fact<std::vector<EdacController>>, edac, "memory error counters by controller");
  MUSTER_FIELD(Fact<std::vector<ThermalZone>>, thermal_zones, "temperatures of the machine");
};

struct KernelRecord {
  MUSTER_DESCRIBED(KernelRecord);
  MUSTER_FIELD(std::uint64_t, sequence, "the kernel's running number") = 0;
  MUSTER_FIELD(std::uint64_t, time_us, "microseconds since boot") = 0;
  MUSTER_FIELD(unsigned, level, "0 emergency to 7 debug") = 0;
  MUSTER_FIELD(unsigned, facility, "0 for the kernel, else user space") = 0;
  MUSTER_FIELD(std::string, text, "the message, with continuation lines");
  MUSTER_FIELD(std::uint64_t, repeats, "identical messages within 5 s, counted once") = 1;
  MUSTER_FIELD(std::uint64_t, last_us, "time of the last repeat") = 0;
};

struct KernelLog {
  MUSTER_DESCRIBED(KernelLog);
  MUSTER_FIELD(std::vector<KernelRecord>, records,
               "warnings and worse, and all messages of hardware drivers");
  MUSTER_FIELD(std::uint64_t, seen, "number of records read") = 0;
  MUSTER_FIELD(std::uint64_t, unparsable, "records with an invalid format") = 0;
  MUSTER_FIELD(std::uint64_t, lost, "records overwritten while reading") = 0;
  MUSTER_FIELD(bool, truncated, "reading stopped at a limit of size or time") = false;
  MUSTER_FIELD(std::uint64_t, first_sequence,
               "the oldest record's number; above 0 the kernel dropped older ones") = 0;
  MUSTER_FIELD(std::uint64_t, first_us, "the oldest record's time, microseconds since boot") = 0;
};

struct Services {
  MUSTER_DESCRIBED(Services);
  MUSTER_FIELD(Fact<std::vector<std::string>>, active,
               "systemd units that have a process or are listed as active");
  // The probe leaves it absent: systemd does not write failed units to a file.
  MUSTER_FIELD(Fact<std::vector<std::string>>, failed, "failed systemd units");
  MUSTER_FIELD(Fact<std::vector<std::string>>, of_root,
               "active units whose first process belongs to root");
};

struct Interface {
  MUSTER_DESCRIBED(Interface);
  MUSTER_FIELD(std::string, name, "name");
  MUSTER_FIELD(Fact<unsigned>, type, "1 Ethernet, 32 InfiniBand");
  MUSTER_FIELD(Fact<std::string>, operstate, "up, down, unknown …");
  MUSTER_FIELD(Fact<bool>, carrier, "link present");
  MUSTER_FIELD(Fact<std::uint64_t>, speed_mbps, "Mb/s; absent if the driver does not know it");
  MUSTER_FIELD(Fact<std::uint64_t>, mtu, "bytes");
  MUSTER_FIELD(Fact<std::uint64_t>, carrier_down_count,
               "losses of the link since the interface was created");
  MUSTER_FIELD(Fact<std::string>, address, "PCI address");
  MUSTER_FIELD(std::string, hca, "verbs device on the same PCI function; empty for none");
};

struct Network {
  MUSTER_DESCRIBED(Network);
  MUSTER_FIELD(std::vector<Interface>, interfaces, "network interfaces except the loopback");
};

// A file that the profile names.
struct FileFact {
  MUSTER_DESCRIBED(FileFact);
  MUSTER_FIELD(std::string, path, "as written in the profile");
  MUSTER_FIELD(bool, exists, "it exists") = false;
  MUSTER_FIELD(bool, executable, "a regular file with an execute bit") = false;
  MUSTER_FIELD(bool, directory, "it is a directory") = false;
  MUSTER_FIELD(Fact<bool>, writable, "a write bit is set and the file system is not read-only");
  MUSTER_FIELD(Fact<Space>, space, "of its file system");
};

struct NcclSetting {
  MUSTER_DESCRIBED(NcclSetting);
  MUSTER_FIELD(std::string, name, "variable");
  MUSTER_FIELD(std::string, value, "value");
  MUSTER_FIELD(std::string, origin, "/etc/nccl.conf:3, or environment");
};

struct NcclTopology {
  MUSTER_DESCRIBED(NcclTopology);
  MUSTER_FIELD(std::string, path, "the topology file");
  MUSTER_FIELD(std::string, origin, "profile, environment or /etc/nccl.conf:2");
  MUSTER_FIELD(std::vector<std::string>, pci_addresses, "its PCI devices without switches");
  MUSTER_FIELD(std::vector<std::string>, cpu_affinities, "NUMA node=mask of its cpu elements");
};

struct Library {
  MUSTER_DESCRIBED(Library);
  MUSTER_FIELD(std::string, name, "soname");
  MUSTER_FIELD(bool, opened, "dlopen succeeded") = false;
  MUSTER_FIELD(std::string, error, "why it failed");
  MUSTER_FIELD(std::string, version, "empty if the library does not report it");
};

struct Environment {
  MUSTER_DESCRIBED(Environment);
  MUSTER_FIELD(Fact<std::vector<NcclSetting>>, nccl,
               "NCCL settings: files first, then the environment, which overrides them");
  MUSTER_FIELD(Fact<NcclTopology>, nccl_topology, "NCCL's topology file; absent if none is set");
  MUSTER_FIELD(std::vector<FileFact>, files, "files and programs that the profile names");
  MUSTER_FIELD(Fact<std::vector<Library>>, libraries,
               "libraries that jobs need; absent below a foreign root");
  MUSTER_FIELD(ByName<std::string>, job,
               "variables of the current job: SLURM_JOB_ID, CUDA_VISIBLE_DEVICES …");
};

}  // namespace muster
