// SPDX-License-Identifier: Apache-2.0
// The kernel log, as far as it is worth keeping.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster {

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

}  // namespace muster
