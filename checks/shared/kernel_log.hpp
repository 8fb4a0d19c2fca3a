// SPDX-License-Identifier: Apache-2.0
// The kernel log: the part of it that counts, the device that a line is about, and faults. Lines of
// several classes, under several names of the same hardware, are one fault, named by the class
// closest to its cause.
#pragma once

#include <array>
#include <cctype>
#include <map>

#include "checks/shared/support.hpp"
#include "lib/base/quantity.hpp"

namespace muster::checks {

// Microseconds since boot.
struct LogWindow {
  double from_us = 0;
  double now_us = 0;
  std::string words;
};

[[nodiscard]] inline LogWindow window_of(double uptime_s, Seconds wanted) {
  if (wanted.value <= 0 || wanted.value >= uptime_s) {
    return {.from_us = 0, .now_us = uptime_s * 1e6, .words = "since boot"};
  }
  return {.from_us = (uptime_s - wanted.value) * 1e6,
          .now_us = uptime_s * 1e6,
          .words = fmt::format("in the last {}", in_time(wanted.value))};
}

// The window, or less if the kernel dropped its first lines.
[[nodiscard]] inline std::string what_was_read(const KernelLog& log, const LogWindow& window) {
  const auto first_us = static_cast<double>(log.first_us);
  if (log.first_sequence == 0 || first_us <= window.from_us) return window.words;
  return fmt::format("since the oldest line in the kernel's buffer, {} ago",
                     in_time(std::max(0.0, window.now_us - first_us) / 1e6));
}

// Missing lines make the check unknown, unless other lines prove a fault.
inline void judge_gaps(const KernelLog& log, std::string_view what, Findings& findings) {
  if (std::ranges::count(findings, Outcome::fail, &Finding::outcome) > 0) return;
  std::string gap;
  if (log.truncated) {
    gap = fmt::format("reading stopped at the size or time limit after {}",
                      counted(log.seen, "line"));
  } else if (log.lost > 0) {
    gap = fmt::format("{} {} overwritten before muster could read them", counted(log.lost, "line"),
                      log.lost == 1 ? "was" : "were");
  } else if (log.unparsable > 0) {
    gap = fmt::format("{} of {} have an unknown format", counted(log.unparsable, "line"), log.seen);
  }
  if (!gap.empty()) findings.push_back(not_known(kNode, what, Fact<int>::unreadable(gap)));
}

// The profile's outcome for a class of lines. A class without one warns.
[[nodiscard]] inline Outcome outcome_of(const ByName<Outcome>& kinds, const std::string& kind) {
  const auto found = kinds.find(kind);
  return found == kinds.end() ? Outcome::warn : found->second;
}

// Below a hypervisor, only the provider can replace parts.
[[nodiscard]] inline Remedy remedy_here(const Snapshot& snapshot, Remedy remedy) {
  return remedy == Remedy::reseat_or_replace ? hardware_remedy(snapshot) : remedy;
}

// `*` in a pattern matches any text; a leading `^` anchors it at the start.
[[nodiscard]] inline bool matches_pattern(std::string_view pattern, std::string_view text) {
  bool anchored = pattern.starts_with('^');
  if (anchored) pattern.remove_prefix(1);
  while (true) {
    const auto star = pattern.find('*');
    const auto piece = pattern.substr(0, star);
    const auto at =
        anchored ? (text.starts_with(piece) ? 0 : std::string_view::npos) : text.find(piece);
    if (at == std::string_view::npos) return false;
    if (star == std::string_view::npos) return true;
    text.remove_prefix(at + piece.size());
    pattern.remove_prefix(star + 1);
    anchored = false;
  }
}

// XIDs and SXIDs, which gpu.xid and gpu.sxid judge.
[[nodiscard]] inline bool is_xid_line(std::string_view text) {
  return text.starts_with("NVRM: Xid") ||
         (text.starts_with("nvidia-nvswitch") && text.find(" SXid ") != std::string_view::npos);
}

namespace line {

[[nodiscard]] inline bool is_hex(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// 0001:00:00.0
[[nodiscard]] inline bool is_pci_address(std::string_view word) {
  return word.size() == 12 && word[4] == ':' && word[7] == ':' && word[10] == '.' &&
         is_hex(word.substr(0, 4)) && is_hex(word.substr(5, 2)) && is_hex(word.substr(8, 2)) &&
         is_hex(word.substr(11));
}

[[nodiscard]] inline bool is_numbered(std::string_view word, std::string_view prefix) {
  return word.starts_with(prefix) && word.size() > prefix.size() &&
         std::isdigit(static_cast<unsigned char>(word[prefix.size()])) != 0;
}

// A disk with letters, or a partition of one: sda, sdab12, vdb1, xvda.
[[nodiscard]] inline bool is_lettered_disk(std::string_view word) {
  for (const std::string_view prefix : {"sd", "vd", "xvd"}) {
    if (!word.starts_with(prefix)) continue;
    const auto rest = word.substr(prefix.size());
    const auto letters =
        std::min(rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), rest.size());
    const bool numbered = rest.find_first_not_of("0123456789-", letters) == std::string_view::npos;
    if ((letters == 1 || letters == 2) && numbered) return true;
  }
  return false;
}

// A disk or partition: nvme0, nvme0n1p2, sda1, md127, dm-3, loop0.
[[nodiscard]] inline bool is_disk(std::string_view word) {
  constexpr std::array<std::string_view, 10> kNumbered{"nvme", "md",  "dm-", "loop", "mmcblk",
                                                       "pmem", "rbd", "nbd", "zram", "bcache"};
  const bool plain =
      std::ranges::all_of(word, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
  return plain && (is_lettered_disk(word) || std::ranges::any_of(kNumbered, [&](auto prefix) {
                     return is_numbered(word, prefix);
                   }));
}

// A network interface: eth1, enP5s1, ib0, bond0.
[[nodiscard]] inline bool is_interface(std::string_view word) {
  constexpr std::size_t kLongest = 15;
  constexpr std::array<std::string_view, 5> kPrefixes{"eth", "en", "ib", "bond", "hsn"};
  const bool plain =
      std::ranges::all_of(word, [](unsigned char c) { return std::isalnum(c) != 0; });
  return plain && word.size() <= kLongest &&
         word.find_first_of("0123456789") != std::string_view::npos &&
         std::ranges::any_of(kPrefixes, [&](auto prefix) { return word.starts_with(prefix); });
}

// Strips punctuation around a device: "(nvme0n1):", "[sda]", "md/raid1:md0:".
[[nodiscard]] inline std::string_view bare(std::string_view word) {
  constexpr std::string_view kAround = "()[]:,.";
  word.remove_prefix(std::min(word.find_first_not_of(kAround), word.size()));
  word = word.substr(0, word.find_last_not_of(kAround) + 1);
  if (word.starts_with("md/")) word.remove_prefix(std::min(word.find(':') + 1, word.size()));
  // The journal of a file system: "Aborting journal on device sda1-8."
  const auto dash = word.rfind('-');
  if (dash != std::string_view::npos && dash > 2 && is_disk(word)) word = word.substr(0, dash);
  return word;
}

// The whole device: nvme6 for nvme6n1p2, sda for sda1, md127 for md127p1.
[[nodiscard]] inline std::string whole_of(std::string_view device) {
  if (!is_disk(device)) return std::string(device);
  const auto number = device.find_first_of("0123456789");
  if (number == std::string_view::npos) return std::string(device);
  const auto end =
      is_lettered_disk(device) ? number : device.find_first_not_of("0123456789", number);
  return std::string(device.substr(0, device.starts_with("dm-") ? device.size() : end));
}

}  // namespace line

// The device that a line names: a PCI address, a disk, a network interface, a memory controller
// (mc0) or the device file of a GPU (nvidia3); "node" if there is none. Searches only the parts
// that the kernel words itself, because users choose the names of processes and files.
[[nodiscard]] std::string device_of_line(std::string_view text);

// The lines of one class. Those within seconds of each other are one incident.
struct ClassLines {
  std::uint64_t incidents = 0;
  std::uint64_t lines = 0;
  std::uint64_t last_us = 0;
  std::string newest;
  Remedy remedy = Remedy::none;

  void add(const KernelRecord& record, const KernelLogPattern& pattern, Seconds coalesce);
  void add(const ClassLines& other);
};

struct KernelFault {
  std::string_view family;  // of classes with a common cause; empty for a single class
  std::string device;
  std::string name{};  // of the device, or of the only part of it that the lines name
  std::uint64_t first_us = 0;
  std::uint64_t last_us = 0;
  std::string image{};                        // describes a disk image, which may belong to a user
  bool of_memory = false;                     // certain; a machine check alone may be about the CPU
  std::map<std::string, ClassLines> classes;  // that the profile does not ignore

  void add(const KernelFault& other);
  void add_name(const std::string& part);
};

// The class that caused the fault: the first of its family among those with the worst outcome.
[[nodiscard]] std::string cause_of(const KernelLogLimits& limits, const KernelFault& fault);

// The faults since `from_us`, sorted by cause and device.
[[nodiscard]] std::vector<KernelFault> faults_of(const Snapshot& snapshot,
                                                 const KernelLogLimits& limits, double from_us);

// Findings of other checks about the same fault, from counters and states of the hardware.
[[nodiscard]] std::vector<SeenBy> seen_by(const Snapshot& snapshot, const KernelFault& fault);

// How often each adapter lost its link since `begin_us`, by its verbs name or else by the name in
// the log. Only InfiniBand adapters, or, if the snapshot lacks the adapter, interfaces named ib….
[[nodiscard]] std::map<std::string, std::uint64_t> link_downs_by_adapter(const Snapshot& snapshot,
                                                                         double begin_us);

}  // namespace muster::checks
