// SPDX-License-Identifier: Apache-2.0
#include "lib/report/report.hpp"

namespace muster {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return "healthy";
    case Verdict::unhealthy:
      return "unhealthy";
    case Verdict::unknown:
      break;
  }
  return "unknown";
}

int exit_status(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return kExitHealthy;
    case Verdict::unhealthy:
      return kExitUnhealthy;
    case Verdict::unknown:
      break;
  }
  return kExitUndecided;
}

}  // namespace muster
