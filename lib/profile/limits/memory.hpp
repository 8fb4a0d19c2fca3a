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

  template <class Self = MemoryLimits>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(total, "expected MemTotal"),
                      MUSTER_FIELD(tolerance, "band around it, both ways")};
  }
};

struct MemoryAvailableLimits {
  Limit<Percent> warn_below;

  template <class Self = MemoryAvailableLimits>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(warn_below, "MemAvailable, in percent of MemTotal")};
  }
};

struct SwapLimits {
  Limit<Bytes> total;

  template <class Self = SwapLimits>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(total, "expected SwapTotal; 0 GiB for none")};
  }
};

struct HugePageLimit {
  Bytes size{};
  Limit<int> count, free;

  template <class Self = HugePageLimit>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(size, "size of one page"),
                      MUSTER_FIELD(count, "pages configured"),
                      MUSTER_FIELD(free, "least number of free pages")};
  }
};

struct HugePagesLimits {
  std::vector<HugePageLimit> pages;

  template <class Self = HugePagesLimits>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(pages, "expected huge pages, by size")};
  }
};

struct EdacLimits {
  Limit<double> corrected_warn_above_per_hour;

  template <class Self = EdacLimits>
  static constexpr auto fields() {
    return std::tuple{
        MUSTER_FIELD(corrected_warn_above_per_hour, "corrected memory errors per hour")};
  }
};

}  // namespace muster
