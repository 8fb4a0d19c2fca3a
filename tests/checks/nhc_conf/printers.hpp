// SPDX-License-Identifier: Apache-2.0
// How lines and what they ask for print themselves when a test fails.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>

#include "checks/nhc_conf/config.hpp"

namespace muster::nhc {

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
inline void PrintTo(const Line& line, std::ostream* out) {
  *out << fmt::format("{}: {} || {} {}", line.number, line.target, line.command, line.complaint);
}

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
inline void PrintTo(const CheckLine& line, std::ostream* out) {
  *out << fmt::format("{}: {} [{}] {} {}", line.number, line.check,
                      fmt::join(line.arguments, "] ["), line.complaint, line.unresolved);
}

}  // namespace muster::nhc
