// SPDX-License-Identifier: Apache-2.0
// The kernel log, as far as it is worth keeping.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster {

struct KernelRecord {
  MUSTER_DESCRIBED(KernelRecord);
  MUSTER_FIELD(std::uint64_t, sequence, "the kernel's running number") = 0;
  MUSTER_FIELD(std::uint64_t, time_us, "microseconds since boot") = 0;
  MUSTER_FIELD(unsigned, level, "0 emergency to 7 debug") = 0;
  MUSTER_FIELD(unsigned, facility, "0 kernel; else user space wrote it") = 0;
  // Unescaped, continuation lines joined with a newline.
  MUSTER_FIELD(std::string, text, "the message");
  MUSTER_FIELD(std::uint64_t, repeats, "identical messages within 5 s, counted once") = 1;
  // Time of the last repeat; time_us when there is none.
  MUSTER_FIELD(std::uint64_t, last_us, "time of the last of them") = 0;
};

struct KernelLog {
  MUSTER_DESCRIBED(KernelLog);
  MUSTER_FIELD(std::vector<KernelRecord>, records,
               "warnings and worse, and all that hardware drivers say");
  MUSTER_FIELD(std::uint64_t, seen, "records read in all") = 0;
  MUSTER_FIELD(std::uint64_t, unparsable, "records that are not in the kernel's form") = 0;
  MUSTER_FIELD(std::uint64_t, lost, "records overwritten while reading") = 0;
  MUSTER_FIELD(bool, truncated, "reading stopped at the limit of size or time") = false;
  MUSTER_FIELD(std::uint64_t, first_sequence,
               "the oldest record's number; above 0 the kernel dropped older ones") = 0;
  MUSTER_FIELD(std::uint64_t, first_us, "the oldest record's time, microseconds since boot") = 0;
};

}  // namespace muster
