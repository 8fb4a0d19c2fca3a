// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "lib/report/finding.hpp"

namespace muster {

// A finding without numbers.
[[nodiscard]] inline Finding make_finding(std::string_view check, std::string device,
                                          Outcome outcome, std::string message,
                                          Remedy remedy = Remedy::none) {
  return {.check = std::string(check),
          .device = std::move(device),
          .outcome = outcome,
          .message = std::move(message),
          .remedy = remedy};
}

}  // namespace muster
