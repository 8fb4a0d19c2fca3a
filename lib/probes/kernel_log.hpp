// SPDX-License-Identifier: Apache-2.0
// Parses records of the kernel log, and selects those worth keeping. The probe reads from the
// oldest record: by record from the device, by line from a recorded file. It is bounded in size and
// time, and never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/node/host.hpp"
#include "lib/probes/parse/parse.hpp"

namespace muster {

// A record's header and its escaped text.
struct KmsgRecord {
  std::uint64_t sequence = 0;
  std::uint64_t time_us = 0;
  unsigned level = 0;
  unsigned facility = 0;
  bool fragment = false;  // belongs to the record before it
  std::string_view text;
};

// Parses "PRI,SEQ,USEC,FLAGS[,…];text". Dictionary lines (" KEY=value") are ignored: drivers name
// their device in the text.
[[nodiscard]] std::optional<KmsgRecord> parse_kmsg(std::string_view record);

// The kernel writes bytes that are not printable ASCII, and the backslash, as \xNN.
[[nodiscard]] inline std::string unescape_kmsg(std::string_view text) {
  return unescape(text, "\\x", 2, 16);
}

// Collects records: joins fragments, merges repeated messages, keeps those that checks may need and
// counts the rest.
class KmsgCollector {
 public:
  static constexpr std::size_t kMaxKept = 20000;    // beyond it the oldest half is dropped
  static constexpr std::size_t kMaxUserKept = 256;  // user space must not displace kernel records
  static constexpr std::size_t kMaxText = 1024;     // the kernel's limit for a record
  static constexpr std::uint64_t kCoalesceUs = 5000000;

  // Adds one record with its dictionary lines.
  void add(std::string_view record);

  // Records before the next one were overwritten; its sequence number shows how many.
  void overwritten() { overwritten_ = true; }

  // Reading stopped before the end.
  void truncated() { log_.truncated = true; }

  [[nodiscard]] KernelLog finish();

 private:
  // The current record, which fragments may follow.
  struct Pending {
    KmsgRecord header;
    std::string raw;
  };

  void flush();
  void keep(const KmsgRecord& header, std::string text);
  bool coalesce(std::size_t index, const KmsgRecord& header);
  void drop_oldest();

  KernelLog log_;
  std::optional<Pending> pending_;
  Pending previous_;  // the last one flushed, which storms repeat
  std::optional<std::size_t> previous_kept_;
  std::unordered_map<std::size_t, std::size_t> newest_;  // hash of a text to its newest record
  std::size_t user_kept_ = 0;
  bool overwritten_ = false;
  bool any_flushed_ = false;
};

}  // namespace muster
