// SPDX-License-Identifier: Apache-2.0
// Numbers with a unit. The kind of unit is part of the type, so that a limit in Gb/s cannot be
// compared with a value in GB/s. A number without a unit is an error.
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

// Parses "1870 GiB", "5%", "85C": a finite number of at least 0, at most one space, and a unit.
template <class Kind>
[[nodiscard]] Result<Quantity<Kind>> parse_quantity(std::string_view text);

// Renders the quantity in the largest unit in which it is at least 1, without trailing zeros:
// "1.5 GiB".
template <class Kind>
[[nodiscard]] std::string to_string(Quantity<Kind> quantity);

}  // namespace muster
