// SPDX-License-Identifier: Apache-2.0
// The entry point of a fuzz target, which defines fuzz() in one source file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lib/base/text.hpp"

namespace muster {

// Tries one input.
void fuzz(std::string_view text);

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline void require_printable(std::string_view text) {
  constexpr std::size_t kAnyLength = 1UL << 20;
  require(printable(text, kAnyLength) == text);
}

}  // namespace muster

// NOLINTBEGIN(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  muster::fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
// NOLINTEND(readability-identifier-naming)
