// SPDX-License-Identifier: Apache-2.0
// Facts about memory: amounts, swap and huge pages.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct HugePages {
  MUSTER_DESCRIBED(HugePages);
  MUSTER_FIELD(std::uint64_t, size_kib, "size of one page in KiB") = 0;
  MUSTER_FIELD(Fact<std::uint64_t>, total, "pages configured");
  MUSTER_FIELD(Fact<std::uint64_t>, free, "pages free");
};

struct Memory {
  MUSTER_DESCRIBED(Memory);
  MUSTER_FIELD(Fact<std::uint64_t>, total_bytes, "MemTotal");
  MUSTER_FIELD(Fact<std::uint64_t>, available_bytes, "MemAvailable");
  MUSTER_FIELD(Fact<std::uint64_t>, swap_total_bytes, "SwapTotal");
  MUSTER_FIELD(Fact<std::uint64_t>, swap_free_bytes, "SwapFree");
  MUSTER_FIELD(Fact<std::vector<HugePages>>, huge_pages, "huge pages by size");
};

}  // namespace muster
