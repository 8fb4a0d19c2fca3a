// SPDX-License-Identifier: Apache-2.0
// Factors between units.
#pragma once

namespace muster {

inline constexpr double kPercent = 100;
inline constexpr double kMega = 1e6;
inline constexpr double kGiga = 1e9;
inline constexpr double kTera = 1e12;
inline constexpr double kMicrosecondsPerSecond = 1e6;

inline constexpr double kMinute = 60;  // seconds
inline constexpr double kHour = 3600;
inline constexpr double kDay = 86400;

}  // namespace muster
