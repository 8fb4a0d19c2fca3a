// SPDX-License-Identifier: Apache-2.0
// What a node's memory, swap and huge pages must be, and how many memory errors are borne.
#pragma once

#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct MemoryLimits {
  Limit<Bytes> total;
  Percent tolerance{};

  MUSTER_FIELDS(MemoryLimits,
                MUSTER_FIELD(total, "expected MemTotal"),
                MUSTER_FIELD(tolerance, "band around it, both ways"));
};

struct MemoryAvailableLimits {
  Limit<Percent> warn_below;

  MUSTER_FIELDS(MemoryAvailableLimits,
                MUSTER_FIELD(warn_below, "MemAvailable, in percent of MemTotal"));
};

struct SwapLimits {
  Limit<Bytes> total;

  MUSTER_FIELDS(SwapLimits, MUSTER_FIELD(total, "expected SwapTotal; 0 GiB for none"));
};

struct HugePageLimit {
  Bytes size{};
  Limit<int> count, free;

  MUSTER_FIELDS(HugePageLimit,
                MUSTER_FIELD(size, "size of one page"),
                MUSTER_FIELD(count, "pages configured"),
                MUSTER_FIELD(free, "least number of free pages"));
};

struct HugePagesLimits {
  std::vector<HugePageLimit> pages;

  MUSTER_FIELDS(HugePagesLimits, MUSTER_FIELD(pages, "expected huge pages, by size"));
};

struct EdacLimits {
  Limit<double> corrected_warn_above_per_hour;

  MUSTER_FIELDS(EdacLimits,
                MUSTER_FIELD(corrected_warn_above_per_hour, "corrected memory errors per hour"));
};

}  // namespace muster
