// SPDX-License-Identifier: Apache-2.0
// Facts about the running system: the kernel and its log, services, interfaces, and the environment
// that jobs meet.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/node/host.hpp"

namespace muster {

struct TimeSync {
  bool synchronised = false;
  double estimated_error_s = 0;

  template <class Self = TimeSync>
  static constexpr auto fields() {
    return std::tuple{
        field("synchronised", &Self::synchronised, "the kernel's clock is disciplined (adjtimex)"),
        field("estimated_error_s", &Self::estimated_error_s, "estimated error in seconds")};
  }

  bool operator==(const TimeSync&) const = default;
};

// Whose limits are looked at where no process that starts jobs was found.
inline constexpr std::string_view kOwnLimits = "muster itself";

struct Limits {
  std::string process;              // whose: "slurmd (1234)", or kOwnLimits
  Fact<std::string> memlock_bytes;  // "unlimited" or a number
  Fact<std::string> open_files;

  template <class Self = Limits>
  static constexpr auto fields() {
    return std::tuple{
        field("process", &Self::process, "the process that starts jobs, whose limits these are"),
        field("memlock_bytes",
              &Self::memlock_bytes,
              "soft limit of locked memory: unlimited or bytes"),
        field("open_files", &Self::open_files, "soft limit of open files: unlimited or a number")};
  }

  bool operator==(const Limits&) const = default;
};

struct EdacController {
  std::string name;  // mc0
  Fact<std::uint64_t> corrected;
  Fact<std::uint64_t> uncorrected;

  template <class Self = EdacController>
  static constexpr auto fields() {
    return std::tuple{
        field("name", &Self::name, "memory controller, as mc0"),
        field("corrected", &Self::corrected, "ce_count since the driver was loaded"),
        field("uncorrected", &Self::uncorrected, "ue_count since the driver was loaded")};
  }

  bool operator==(const EdacController&) const = default;
};

struct Kernel {
  Fact<std::string> release;
  Fact<std::string> command_line;
  std::map<std::string, Fact<std::string>> sysctl;  // those the profile names; dots as separators
  Fact<std::string> transparent_hugepage;           // the selected word: always, madvise, never
  Fact<std::vector<std::string>> modules;           // loaded or built in
  Limits limits;
  Fact<TimeSync> clock;
  Fact<std::string> clocksource;
  Fact<std::vector<EdacController>> edac;  // absent where no driver is loaded

  template <class Self = Kernel>
  static constexpr auto fields() {
    return std::tuple{
        field("release", &Self::release, "as uname -r"),
        field("command_line", &Self::command_line, "proc/cmdline"),
        field("sysctl", &Self::sysctl, "values of the keys that the profile names"),
        field("transparent_hugepage", &Self::transparent_hugepage, "always, madvise or never"),
        field("modules", &Self::modules, "modules loaded or built in, from sys/module"),
        field("limits", &Self::limits, "resource limits of the process that starts jobs"),
        field("clock", &Self::clock, "is the clock synchronised"),
        field("clocksource", &Self::clocksource, "current clocksource"),
        field("edac", &Self::edac, "memory error counters by controller")};
  }

  bool operator==(const Kernel&) const = default;
};

struct KernelRecord {
  std::uint64_t sequence = 0;
  std::uint64_t time_us = 0;  // since boot
  unsigned level = 0;         // 0 emergency … 7 debug
  unsigned facility = 0;      // 0 kernel; anything else was written by user space
  std::string text;           // unescaped, continuation lines joined with a newline
  std::uint64_t repeats = 1;  // identical texts in a row, counted once
  std::uint64_t last_us = 0;  // time of the last repeat; time_us when there is none

  template <class Self = KernelRecord>
  static constexpr auto fields() {
    return std::tuple{
        field("sequence", &Self::sequence, "the kernel's running number"),
        field("time_us", &Self::time_us, "microseconds since boot"),
        field("level", &Self::level, "0 emergency to 7 debug"),
        field("facility", &Self::facility, "0 kernel; else user space wrote it"),
        field("text", &Self::text, "the message"),
        field("repeats", &Self::repeats, "identical messages within 5 s, counted once"),
        field("last_us", &Self::last_us, "time of the last of them")};
  }

  bool operator==(const KernelRecord&) const = default;
};

struct KernelLog {
  std::vector<KernelRecord> records;  // warnings and worse, and what names hardware drivers
  std::uint64_t seen = 0;
  std::uint64_t unparsable = 0;
  std::uint64_t lost = 0;  // overwritten before they could be read
  bool truncated = false;  // stopped at the limit of size or time
  // Of the oldest record: any other sequence than 0 means that older ones are gone.
  std::uint64_t first_sequence = 0;
  std::uint64_t first_us = 0;

  template <class Self = KernelLog>
  static constexpr auto fields() {
    return std::tuple{
        field("records", &Self::records, "warnings and worse, and all that hardware drivers say"),
        field("seen", &Self::seen, "records read in all"),
        field("unparsable", &Self::unparsable, "records that are not in the kernel's form"),
        field("lost", &Self::lost, "records overwritten while reading"),
        field("truncated", &Self::truncated, "reading stopped at the limit of size or time"),
        field("first_sequence",
              &Self::first_sequence,
              "the oldest record's number; above 0 the kernel dropped older ones"),
        field("first_us", &Self::first_us, "the oldest record's time, microseconds since boot")};
  }

  bool operator==(const KernelLog&) const = default;
};

struct Services {
  Fact<std::vector<std::string>> active;   // units with a process, or that systemd lists as active
  Fact<std::vector<std::string>> failed;   // of those, none; kept where systemd says so in a file
  Fact<std::vector<std::string>> of_root;  // active units whose first process is root's

  template <class Self = Services>
  static constexpr auto fields() {
    return std::tuple{
        field("active", &Self::active, "systemd units that are active"),
        field("failed", &Self::failed, "systemd units that are known to have failed"),
        field("of_root", &Self::of_root, "active units whose first process is root's")};
  }

  bool operator==(const Services&) const = default;
};

struct Interface {
  std::string name;
  Fact<unsigned> type;          // 1 Ethernet, 32 InfiniBand, 772 loopback
  Fact<std::string> operstate;  // up, down, unknown …
  Fact<bool> carrier;
  Fact<std::uint64_t> speed_mbps;  // absent where the driver does not know
  Fact<std::uint64_t> mtu;
  Fact<std::uint64_t> carrier_down_count;
  Fact<std::string> address;  // PCI address of its device
  std::string hca;            // verbs name of the device it belongs to; empty when none

  template <class Self = Interface>
  static constexpr auto fields() {
    return std::tuple{field("name", &Self::name, "name"),
                      field("type", &Self::type, "1 Ethernet, 32 InfiniBand"),
                      field("operstate", &Self::operstate, "up, down, unknown …"),
                      field("carrier", &Self::carrier, "link present"),
                      field("speed_mbps", &Self::speed_mbps, "Mb/s"),
                      field("mtu", &Self::mtu, "bytes"),
                      field("carrier_down_count",
                            &Self::carrier_down_count,
                            "times the link was lost since the interface exists"),
                      field("address", &Self::address, "PCI address"),
                      field("hca", &Self::hca, "verbs device on the same function")};
  }

  bool operator==(const Interface&) const = default;
};

struct Network {
  std::vector<Interface> interfaces;  // without lo

  template <class Self = Network>
  static constexpr auto fields() {
    return std::tuple{
        field("interfaces", &Self::interfaces, "network interfaces but the loopback")};
  }

  bool operator==(const Network&) const = default;
};

// A file that somebody names: the profile, or a line of NHC's configuration.
struct FileFact {
  std::string path;
  bool exists = false;
  bool executable = false;  // a regular file somebody may execute
  bool directory = false;
  Fact<bool> writable;  // file system not read-only and some write bit set
  Fact<std::string> type;
  Fact<unsigned> mode;  // its permissions, with set-user-id, set-group-id and the sticky bit
  Fact<std::uint64_t> size_bytes;
  Fact<bool> read_only;
  Fact<Space> space;  // of the file system it lies on

  template <class Self = FileFact>
  static constexpr auto fields() {
    return std::tuple{
        field("path", &Self::path, "as the profile names it"),
        field("exists", &Self::exists, "it exists"),
        field("executable", &Self::executable, "a regular file with an execute bit"),
        field("directory", &Self::directory, "it is a directory"),
        field(
            "writable", &Self::writable, "a write bit is set and the file system is not read-only"),
        field("type",
              &Self::type,
              "of what a link leads to: regular, directory, character, block, fifo, socket"),
        field("mode", &Self::mode, "permissions, as one decimal number"),
        field("size_bytes", &Self::size_bytes, "size"),
        field("read_only", &Self::read_only, "the file system it lies on takes no writes"),
        field("space", &Self::space, "of the file system it lies on")};
  }

  bool operator==(const FileFact&) const = default;
};

struct NcclSetting {
  std::string name;
  std::string value;
  std::string origin;  // "/etc/nccl.conf:3" or "environment"

  template <class Self = NcclSetting>
  static constexpr auto fields() {
    return std::tuple{field("name", &Self::name, "variable"),
                      field("value", &Self::value, "value"),
                      field("origin", &Self::origin, "file and line, or environment")};
  }

  bool operator==(const NcclSetting&) const = default;
};

struct NcclTopology {
  std::string path;
  std::string origin;  // who names it: profile, environment, /etc/nccl.conf:2
  std::vector<std::string> pci_addresses;
  std::vector<std::string> cpu_affinities;  // "<numa id>=<mask>" of each cpu element

  template <class Self = NcclTopology>
  static constexpr auto fields() {
    return std::tuple{
        field("path", &Self::path, "the topology file"),
        field("origin", &Self::origin, "who names it"),
        field("pci_addresses", &Self::pci_addresses, "PCI devices in it (switches left out)"),
        field("cpu_affinities", &Self::cpu_affinities, "NUMA node=mask of its cpu elements")};
  }

  bool operator==(const NcclTopology&) const = default;
};

struct Library {
  std::string name;  // libnccl.so.2
  bool opened = false;
  std::string error;    // why not
  std::string version;  // where the library tells ("2.28.3")

  template <class Self = Library>
  static constexpr auto fields() {
    return std::tuple{field("name", &Self::name, "soname"),
                      field("opened", &Self::opened, "dlopen succeeded"),
                      field("error", &Self::error, "why it did not"),
                      field("version", &Self::version, "where the library tells it")};
  }

  bool operator==(const Library&) const = default;
};

struct Environment {
  Fact<std::vector<NcclSetting>> nccl;     // files first, then the environment, which wins
  Fact<NcclTopology> nccl_topology;        // absent when nobody names a file
  std::vector<FileFact> files;             // programs and paths that the profile names
  Fact<std::vector<Library>> libraries;    // absent below a foreign root
  std::map<std::string, std::string> job;  // SLURM_JOB_ID, SLURM_JOB_GPUS, CUDA_VISIBLE_DEVICES …

  template <class Self = Environment>
  static constexpr auto fields() {
    return std::tuple{
        field("nccl", &Self::nccl, "NCCL settings of files and environment, in order of strength"),
        field("nccl_topology", &Self::nccl_topology, "NCCL's topology file"),
        field("files", &Self::files, "files and programs that the profile names"),
        field("libraries", &Self::libraries, "libraries that jobs need"),
        field("job", &Self::job, "the job on whose behalf this runs")};
  }

  bool operator==(const Environment&) const = default;
};

}  // namespace muster
