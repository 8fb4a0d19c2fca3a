// SPDX-License-Identifier: Apache-2.0
// Parses files of procfs: a process's stat and status, loadavg, meminfo, cpuinfo and mounts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/node/host.hpp"

namespace muster {

// The kernel's PID_MAX_LIMIT.
inline constexpr std::size_t kMostProcesses = 4UL * 1024 * 1024;

struct ProcessStat {
  std::uint64_t pid = 0;
  std::string_view name;  // into the parsed text; may contain blanks, parentheses and newlines
  char state = '?';       // R running, S sleeping, D uninterruptible, Z zombie …
  std::uint64_t parent = 0;
  std::uint64_t start_ticks = 0;

  bool operator==(const ProcessStat&) const = default;
};

[[nodiscard]] Result<ProcessStat> parse_process_stat(std::string_view text);

// The sum of voluntary and involuntary context switches, from proc/<pid>/status.
[[nodiscard]] Result<std::uint64_t> parse_context_switches(std::string_view status);

// The real user id, from proc/<pid>/status.
[[nodiscard]] Result<std::uint64_t> parse_user(std::string_view status);

// Whether a SIGKILL is pending, from proc/<pid>/status.
[[nodiscard]] bool is_being_killed(std::string_view status);

struct LoadAverage {
  double load1 = 0;
  double load5 = 0;
  double load15 = 0;
  std::uint64_t running = 0;
  std::uint64_t total = 0;

  bool operator==(const LoadAverage&) const = default;
};

[[nodiscard]] Result<LoadAverage> parse_load_average(std::string_view line);

// The value of `key` in bytes, in proc/meminfo ("MemTotal:  263985920 kB") or a NUMA node's ("Node
// 0 MemTotal: …").
[[nodiscard]] Result<std::uint64_t> parse_meminfo(std::string_view text, std::string_view key);

// proc/cpuinfo repeats a block of 2 to 4 KiB for every CPU; only the first is read.
inline constexpr std::size_t kCpuinfoHead = 16UL * 1024;

// The value of the first line "key : value".
[[nodiscard]] std::optional<std::string_view> cpuinfo_field(std::string_view head,
                                                            std::string_view key);

// "server:/export /data\040set nfs4 rw,hard 0 0": a mount without its space.
[[nodiscard]] Result<Mount> parse_mount(std::string_view line);

// Decodes octal escapes such as the kernel's \040 for a blank.
[[nodiscard]] std::string unescape_mount(std::string_view text);

// False for file systems that only show kernel state, and for autofs, whose mount points must not
// be touched.
[[nodiscard]] bool holds_data(std::string_view type);

}  // namespace muster
