// SPDX-License-Identifier: Apache-2.0
#include "lib/report/finding.hpp"

#include <algorithm>

namespace muster {
int rank(Outcome outcome) {
  return static_cast<int>(std::ranges::find(kWorstFirst, outcome) - kWorstFirst.begin());
}

bool is_plain_pass(const Finding& finding) {
  return finding.outcome == Outcome::pass && finding.remedy == Remedy::none;
}

}  // namespace muster
