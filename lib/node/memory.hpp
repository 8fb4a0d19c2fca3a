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

  template <class Self = HugePages>
  static constexpr auto fields() {
    return std::tuple{field("size_kib", &Self::size_kib, "size of one page in KiB"),
                      field("total", &Self::total, "pages configured"),
                      field("free", &Self::free, "pages free")};
  }

  bool operator==(const HugePages&) const = default;
};

struct Memory {
  Fact<std::uint64_t> total_bytes;
  Fact<std::uint64_t> available_bytes;
  Fact<std::uint64_t> swap_total_bytes;
  Fact<std::uint64_t> swap_free_bytes;
  Fact<std::vector<HugePages>> huge_pages;

  template <class Self = Memory>
  static constexpr auto fields() {
    return std::tuple{field("total_bytes", &Self::total_bytes, "MemTotal"),
                      field("available_bytes", &Self::available_bytes, "MemAvailable"),
                      field("swap_total_bytes", &Self::swap_total_bytes, "SwapTotal"),
                      field("swap_free_bytes", &Self::swap_free_bytes, "SwapFree"),
                      field("huge_pages", &Self::huge_pages, "huge pages by size")};
  }

  bool operator==(const Memory&) const = default;
};

}  // namespace muster
