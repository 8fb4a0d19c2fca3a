// SPDX-License-Identifier: Apache-2.0
// What a node's memory, swap and huge pages must be, and how many memory errors are borne.
#pragma once

#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct MemoryLimits {
  MUSTER_DESCRIBED(MemoryLimits);
  MUSTER_FIELD(Limit<Bytes>, total, "expected MemTotal");
  MUSTER_FIELD(Percent, tolerance, "band around it, both ways") = {};
};

struct MemoryAvailableLimits {
  MUSTER_DESCRIBED(MemoryAvailableLimits);
  MUSTER_FIELD(Limit<Percent>, warn_below, "MemAvailable, in percent of MemTotal");
};

struct SwapLimits {
  MUSTER_DESCRIBED(SwapLimits);
  MUSTER_FIELD(Limit<Bytes>, total, "expected SwapTotal; 0 GiB for none");
};

struct HugePageLimit {
  MUSTER_DESCRIBED(HugePageLimit);
  MUSTER_FIELD(Bytes, size, "size of one page") = {};
  MUSTER_FIELD(Limit<int>, count, "pages configured");
  MUSTER_FIELD(Limit<int>, free, "least number of free pages");
};

struct HugePagesLimits {
  MUSTER_DESCRIBED(HugePagesLimits);
  MUSTER_FIELD(std::vector<HugePageLimit>, pages, "expected huge pages, by size");
};

struct EdacLimits {
  MUSTER_DESCRIBED(EdacLimits);
  MUSTER_FIELD(Limit<double>, corrected_warn_above_per_hour, "corrected memory errors per hour");
};

}  // namespace muster
