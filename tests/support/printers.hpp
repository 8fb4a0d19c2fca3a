// SPDX-License-Identifier: Apache-2.0
// Prints findings when a test fails.
#pragma once

#include <ostream>

#include "lib/base/json_write.hpp"
#include "lib/report/finding.hpp"

namespace muster {

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest expects
inline void PrintTo(const Finding& finding, std::ostream* out) {
  *out << "\n  " << to_json_line(finding);
}

}  // namespace muster
