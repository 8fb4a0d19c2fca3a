// SPDX-License-Identifier: Apache-2.0
// Which kernel runs, with which parameters, settings and modules, and how well its clock is set.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct KernelLimits {
  Limit<std::string> release;
  Words required, forbidden;

  MUSTER_FIELDS(KernelLimits,
                MUSTER_FIELD(release, "kernel release, a glob"),
                MUSTER_FIELD(required, "parameters the command line must have, globs"),
                MUSTER_FIELD(forbidden, "parameters it must not have, globs"));
};

inline constexpr std::array<std::string_view, 3> kHugePageWords{"always", "madvise", "never"};

struct SysctlLimits {
  std::map<std::string, std::string> values;
  Words transparent_hugepage;

  MUSTER_FIELDS(SysctlLimits,
                MUSTER_FIELD(values, "key to expected value; alternatives separated by |"),
                MUSTER_CHOICE(transparent_hugepage,
                              kHugePageWords,
                              "allowed: always, madvise, never"));
};

struct ModuleLimits {
  Words required, forbidden;

  MUSTER_FIELDS(ModuleLimits,
                MUSTER_FIELD(required, "modules that must be loaded; a|b for either"),
                MUSTER_FIELD(forbidden, "modules that must not be loaded"));
};

struct ClockLimits {
  bool synchronised = false;
  Limit<Seconds> error_warn_above;
  Words clocksource;

  MUSTER_FIELDS(ClockLimits,
                MUSTER_FIELD(synchronised, "the clock must be disciplined"),
                MUSTER_FIELD(error_warn_above, "estimated error"),
                MUSTER_FIELD(clocksource, "allowed clocksources; empty for any"));
};

}  // namespace muster
