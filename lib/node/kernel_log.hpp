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

  MUSTER_FIELDS(KernelRecord,
                MUSTER_FIELD(sequence, "the kernel's running number"),
                MUSTER_FIELD(time_us, "microseconds since boot"),
                MUSTER_FIELD(level, "0 emergency to 7 debug"),
                MUSTER_FIELD(facility, "0 kernel; else user space wrote it"),
                MUSTER_FIELD(text, "the message"),
                MUSTER_FIELD(repeats, "identical messages within 5 s, counted once"),
                MUSTER_FIELD(last_us, "time of the last of them"));
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

  MUSTER_FIELDS(KernelLog,
                MUSTER_FIELD(records, "warnings and worse, and all that hardware drivers say"),
                MUSTER_FIELD(seen, "records read in all"),
                MUSTER_FIELD(unparsable, "records that are not in the kernel's form"),
                MUSTER_FIELD(lost, "records overwritten while reading"),
                MUSTER_FIELD(truncated, "reading stopped at the limit of size or time"),
                MUSTER_FIELD(first_sequence,
                             "the oldest record's number; above 0 the kernel dropped older ones"),
                MUSTER_FIELD(first_us, "the oldest record's time, microseconds since boot"));
};

}  // namespace muster
