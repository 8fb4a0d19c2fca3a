// SPDX-License-Identifier: Apache-2.0
// Numbers with a unit. The unit is part of the type, so a limit in Gb/s cannot be compared with an
// observation in GB/s, and a bare number where a unit belongs is an error.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// `value` is in the base unit of its kind: bytes, seconds, bytes per second, bits per second …
template <class Kind>
struct Quantity {
  double value = 0;

  auto operator<=>(const Quantity&) const = default;  // NOLINT(modernize-use-nullptr): of the tool
};

using Bytes = Quantity<struct BytesKind>;      // B, KiB … TiB, kB, KB, MB, GB, TB
using Percent = Quantity<struct PercentKind>;  // 5% or 5 %; value 5
using Seconds = Quantity<struct SecondsKind>;  // us, ms, s, min, h, d
using Celsius = Quantity<struct CelsiusKind>;  // 85 C, 85C
using BytesPerSecond =
    Quantity<struct BytesPerSecondKind>;  // B/s, kB/s, MB/s, GB/s, TB/s (powers of ten)
using BitsPerSecond = Quantity<struct BitsPerSecondKind>;  // Mb/s, Gb/s, Tb/s (powers of ten)
using Transfers = Quantity<struct TransfersKind>;          // GT/s; value in transfers per second
using Hertz = Quantity<struct HertzKind>;                  // Hz, kHz, MHz, GHz
using Watts = Quantity<struct WattsKind>;                  // mW, W, kW
using Flops = Quantity<struct FlopsKind>;                  // GFLOPS, TFLOPS, PFLOPS

// "1870 GiB", "5%", "85C": a number, at most one space, a unit of that kind. Negative, NaN and
// infinite values are refused.
template <class Kind>
[[nodiscard]] Result<Quantity<Kind>> parse_quantity(std::string_view text);

// The quantity in the largest unit that keeps the number at one or above, without trailing zeros:
// "1.5 GiB".
template <class Kind>
[[nodiscard]] std::string to_string(Quantity<Kind> quantity);

}  // namespace muster
