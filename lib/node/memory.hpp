// SPDX-License-Identifier: Apache-2.0
// Facts about memory: amounts, swap and huge pages.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct HugePages {
  std::uint64_t size_kib = 0;
  Fact<std::uint64_t> total;
  Fact<std::uint64_t> free;

  MUSTER_FIELDS(HugePages,
                MUSTER_FIELD(size_kib, "size of one page in KiB"),
                MUSTER_FIELD(total, "pages configured"),
                MUSTER_FIELD(free, "pages free"));
};

struct Memory {
  Fact<std::uint64_t> total_bytes;
  Fact<std::uint64_t> available_bytes;
  Fact<std::uint64_t> swap_total_bytes;
  Fact<std::uint64_t> swap_free_bytes;
  Fact<std::vector<HugePages>> huge_pages;

  MUSTER_FIELDS(Memory,
                MUSTER_FIELD(total_bytes, "MemTotal"),
                MUSTER_FIELD(available_bytes, "MemAvailable"),
                MUSTER_FIELD(swap_total_bytes, "SwapTotal"),
                MUSTER_FIELD(swap_free_bytes, "SwapFree"),
                MUSTER_FIELD(huge_pages, "huge pages by size"));
};

}  // namespace muster
