// SPDX-License-Identifier: Apache-2.0
// The relevant records of the kernel log.
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
  MUSTER_FIELD(unsigned, facility, "0 for the kernel, else user space") = 0;
  MUSTER_FIELD(std::string, text, "the message, with continuation lines");
  MUSTER_FIELD(std::uint64_t, repeats, "identical messages within 5 s, counted once") = 1;
  MUSTER_FIELD(std::uint64_t, last_us, "time of the last repeat") = 0;
};

struct KernelLog {
  MUSTER_DESCRIBED(KernelLog);
  MUSTER_FIELD(std::vector<KernelRecord>, records,
               "warnings and worse, and all messages of hardware drivers");
  MUSTER_FIELD(std::uint64_t, seen, "records read in all") = 0;
  MUSTER_FIELD(std::uint64_t, unparsable, "records with an invalid format") = 0;
  MUSTER_FIELD(std::uint64_t, lost, "records overwritten while reading") = 0;
  MUSTER_FIELD(bool, truncated, "reading stopped at a limit of size or time") = false;
  MUSTER_FIELD(std::uint64_t, first_sequence,
               "the oldest record's number; above 0 the kernel dropped older ones") = 0;
  MUSTER_FIELD(std::uint64_t, first_us, "the oldest record's time, microseconds since boot") = 0;
};

}  // namespace muster
