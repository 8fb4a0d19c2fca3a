// SPDX-License-Identifier: Apache-2.0
// CPU lists: an accepted list is ascending and bounded, and survives writing and reading.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lib/base/text.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto members = muster::parse_cpu_list(text);
  if (!members) return 0;
  if (!std::is_sorted(members->begin(), members->end()) || members->size() > 65536) std::abort();
  if (members->empty()) return 0;
  const auto again = muster::parse_cpu_list(muster::to_cpu_list(*members));
  if (!again || *again != *members) std::abort();
  return 0;
}
