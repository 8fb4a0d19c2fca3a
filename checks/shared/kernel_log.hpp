// SPDX-License-Identifier: Apache-2.0
// The kernel log: the part of it that counts, the device that a line is about, and faults. Lines of
// several classes, under several names of the same hardware, are one fault, named by the class
// closest to its cause.
#pragma once

#include <cctype>
#include <map>

#include "checks/shared/support.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks {

// In microseconds since boot.
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

// A disk or partition: nvme0, nvme0n1p2, sda1, md127, dm-3, loop0.
[[nodiscard]] inline bool is_disk(std::string_view word) {
  const auto followed_by_digit = [&](std::string_view prefix) {
    return word.starts_with(prefix) && word.size() > prefix.size() &&
           std::isdigit(static_cast<unsigned char>(word[prefix.size()])) != 0;
  };
  const bool scsi = word.starts_with("sd") && word.size() > 2 && word.size() <= 7 &&
                    std::islower(static_cast<unsigned char>(word[2])) != 0;
  const bool plain =
      std::ranges::all_of(word, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
  return plain && (scsi || followed_by_digit("nvme") || followed_by_digit("md") ||
                   followed_by_digit("dm-") || followed_by_digit("loop"));
}

// Strips punctuation around a device: "(nvme0n1):", "[sda]", "md/raid1:md0:".
[[nodiscard]] inline std::string_view bare(std::string_view word) {
  constexpr std::string_view kAround = "()[]:,.";
  word.remove_prefix(std::min(word.find_first_not_of(kAround), word.size()));
  word = word.substr(0, word.find_last_not_of(kAround) + 1);
  if (word.starts_with("md/")) word.remove_prefix(std::min(word.find(':') + 1, word.size()));
  return word;
}

// The whole device: nvme6 for nvme6n1p2, sda for sda1, md127 for md127p1.
[[nodiscard]] inline std::string whole_of(std::string_view device) {
  if (!is_disk(device)) return std::string(device);
  const bool scsi = device.starts_with("sd");
  const auto number = device.find_first_of("0123456789");
  if (number == std::string_view::npos) return std::string(device);
  const auto end = scsi ? number : device.find_first_not_of("0123456789", number);
  return std::string(device.substr(0, device.starts_with("dm-") ? device.size() : end));
}

}  // namespace line

// The PCI address or disk in a line, or "node". Searches only where the kernel writes its own
// words: the driver's prefix, and the word after "dev" or "device". Users choose names of processes
// and files in the rest of the line.
[[nodiscard]] inline std::string device_of_line(std::string_view text) {
  const auto words = split_words(text);
  // A root port forwards errors of a device below it: "AER: … error received: 0000:12:00.0".
  if (words.size() > 2 && words[0] == "pcieport" &&
      (words[words.size() - 2] == "received:" || words[words.size() - 2] == "from") &&
      line::is_pci_address(line::bare(words.back()))) {
    // Sent by a device that does not know its own address.
    constexpr std::string_view kNoAddress = "0000:00:00.0";
    const auto source = line::bare(words.back());
    return std::string(source == kNoAddress ? line::bare(words[1]) : source);
  }
  // "sd 0:0:0:0: [sda] …", "NVRM: GPU 0000:a1:00.0: …"
  const std::size_t prefix =
      !words.empty() && (words[0] == "sd" || text.starts_with("NVRM: GPU ")) ? 3 : 2;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool introduced =
        i > 0 && (line::bare(words[i - 1]) == "dev" || line::bare(words[i - 1]) == "device");
    if (i >= prefix && !introduced) continue;
    const auto word = line::bare(words[i]);
    if (line::is_pci_address(word) || line::is_disk(word)) return std::string(word);
  }
  return std::string(kNode);
}

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
