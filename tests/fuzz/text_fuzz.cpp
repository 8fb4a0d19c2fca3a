// SPDX-License-Identifier: Apache-2.0
// Text from a node (host names, process names, log lines) becomes inert; numbers with units, globs
// and suggestions never crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lib/base/quantity.hpp"
#include "lib/base/text.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string shown = muster::printable(text, 64);
  if (shown.size() > 64 || muster::printable(shown, 64) != shown) std::abort();
  for (const char each : shown) {
    if (static_cast<unsigned char>(each) < 0x20 || each == 0x7f) std::abort();
  }
  const auto half = text.substr(0, size / 2);
  static_cast<void>(muster::matches_glob(half, text.substr(size / 2)));
  static_cast<void>(muster::nearest(half.substr(0, 64), {"total", "tolerance", "warn_below"}));
  static_cast<void>(muster::parse_quantity<muster::BytesKind>(text));
  static_cast<void>(muster::parse_quantity<muster::SecondsKind>(text));
  return 0;
}
