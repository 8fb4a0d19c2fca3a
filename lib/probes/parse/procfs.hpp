// SPDX-License-Identifier: Apache-2.0
// The texts of procfs: one process in proc/<pid>/stat and status, the line of proc/loadavg, and
// lines of proc/meminfo, proc/cpuinfo and proc/mounts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/node/mounts.hpp"

namespace muster {

// No kernel has more: PID_MAX_LIMIT.
inline constexpr std::size_t kMostProcesses = 4UL * 1024 * 1024;

struct ProcessStat {
  std::uint64_t pid = 0;
  std::string_view name;  // into the parsed text; may hold blanks, parentheses and line breaks
  char state = '?';       // R running, S sleeping, D uninterruptible, Z zombie …
  std::uint64_t parent = 0;
  std::uint64_t start_ticks = 0;

  bool operator==(const ProcessStat&) const = default;
};

[[nodiscard]] Result<ProcessStat> parse_process_stat(std::string_view text);

// Voluntary and other context switches together, of proc/<pid>/status.
[[nodiscard]] Result<std::uint64_t> parse_context_switches(std::string_view status);

// The real user id, of proc/<pid>/status.
[[nodiscard]] Result<std::uint64_t> parse_user(std::string_view status);

// Whether a SIGKILL has not been acted on yet, by proc/<pid>/status.
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

// The whole of proc/cpuinfo is megabytes on large machines and repeats itself for every CPU, so
// only the first CPU's block is read: 2 to 4 KiB.
inline constexpr std::size_t kCpuinfoHead = 16UL * 1024;

// The value of the first line "key : value".
[[nodiscard]] std::optional<std::string_view> cpuinfo_field(std::string_view head,
                                                            std::string_view key);

// "server:/export /data\040set nfs4 rw,hard 0 0": a mount without its space. Blanks within a name,
// which the kernel writes as \040, are restored.
[[nodiscard]] Result<Mount> parse_mount(std::string_view line);

// Three octal digits after a backslash; the kernel writes \011, \012, \040, \043 and \134.
[[nodiscard]] std::string unescape_mount(std::string_view text);

// False for file systems that only show the kernel's state, and for autofs, whose mount points
// nobody may touch.
[[nodiscard]] bool holds_data(std::string_view type);

}  // namespace muster
