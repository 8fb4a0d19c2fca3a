// SPDX-License-Identifier: Apache-2.0
// The kernel log's record form, and the choice of the records worth keeping. No file is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/node/kernel_log.hpp"

namespace muster {

// One record's header, and a view of its text, still escaped.
struct KmsgRecord {
  std::uint64_t sequence = 0;
  std::uint64_t time_us = 0;
  unsigned level = 0;
  unsigned facility = 0;
  bool fragment = false;  // belongs to the record before it
  std::string_view text;
};

// "PRI,SEQ,USEC,FLAGS[,…];text", with or without the dictionary lines (" KEY=value") after it,
// which are left out: drivers name their device in the text. Empty when it is not in this form.
[[nodiscard]] std::optional<KmsgRecord> parse_kmsg(std::string_view record);

// The kernel writes bytes that are not printable ASCII, and the backslash, as \xNN.
[[nodiscard]] std::string unescape_kmsg(std::string_view text);

// Collects the records of one reading: joins fragments, counts identical messages once, keeps what
// checks may ask for and only counts the rest.
class KmsgCollector {
 public:
  static constexpr std::size_t kMaxKept = 20000;  // beyond it the oldest half is let go
  static constexpr std::size_t kMaxUserKept =
      256;  // user space must not displace the kernel's records
  static constexpr std::size_t kMaxText = 1024;  // the kernel's own limit for a record
  static constexpr std::uint64_t kCoalesceUs = 5000000;

  // One record with its dictionary lines.
  void add(std::string_view record);

  // The kernel says that records were overwritten before the next one; how many, its number tells.
  void overwritten() { overwritten_ = true; }

  // Reading stopped before the end.
  void truncated() { log_.truncated = true; }

  [[nodiscard]] KernelLog finish();

 private:
  // The record being put together: fragments may follow.
  struct Pending {
    KmsgRecord header;
    std::string raw;
  };

  void flush();
  void keep(const KmsgRecord& header, std::string text);
  bool coalesce(std::size_t index, const KmsgRecord& header);
  void let_go_of_oldest();

  KernelLog log_;
  std::optional<Pending> pending_;
  Pending previous_;  // the last one flushed: storms repeat it
  std::optional<std::size_t> previous_kept_;
  std::unordered_map<std::size_t, std::size_t> newest_;  // hash of a text to its newest record
  std::size_t user_kept_ = 0;
  bool overwritten_ = false;
  bool any_flushed_ = false;
};

}  // namespace muster
