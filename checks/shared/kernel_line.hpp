// SPDX-License-Identifier: Apache-2.0
// One line of the kernel log: whether a pattern of the profile matches it, and the device it is
// about.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"

namespace muster::checks {

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

}  // namespace muster::checks
