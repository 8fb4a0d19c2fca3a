// SPDX-License-Identifier: Apache-2.0
// The outcomes and remedies of findings, and how reports and profiles spell them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "lib/base/fields.hpp"

namespace muster {

// The outcomes that a profile may set come first.
enum class Outcome { fail, warn, pass, unknown, skip };
MUSTER_WORDS(Outcome, "fail", "warn", "pass", "unknown", "skip");
inline constexpr std::size_t kOutcomesOfProfiles = 3;

enum class Remedy {
  none,
  watch,
  restart_app,
  reset_gpu,
  restart_service,
  reboot,
  reseat_or_replace,
  fix_config,
  report_to_provider,
};
MUSTER_WORDS(Remedy, "none", "watch", "restart_app", "reset_gpu", "restart_service", "reboot",
             "reseat_or_replace", "fix_config", "report_to_provider");

inline constexpr std::array<std::string_view, kRemedyWords.size()> kRemedyDescriptions{
    "",
    "watch it",
    "end or restart the application",
    "reset the GPU",
    "restart the service",
    "reboot the node",
    "reseat or replace the part",
    "fix the configuration",
    "report to the provider"};

// Returns a phrase for people, such as "reset the GPU"; empty for Remedy::none.
[[nodiscard]] constexpr std::string_view describe(Remedy remedy) {
  return kRemedyDescriptions[static_cast<std::size_t>(remedy)];
}

}  // namespace muster
