// SPDX-License-Identifier: Apache-2.0
// Which kernel runs, with which parameters, settings and modules, and how well its clock is set.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct KernelLimits {
  MUSTER_DESCRIBED(KernelLimits);
  MUSTER_FIELD(Limit<std::string>, release, "kernel release, a glob");
  MUSTER_FIELD(Words, required, "parameters the command line must have, globs");
  MUSTER_FIELD(Words, forbidden, "parameters it must not have, globs");
};

enum class HugePageMode { always, madvise, never };

inline constexpr std::array<std::string_view, 3> kHugePageWords{"always", "madvise", "never"};

constexpr std::span<const std::string_view> words_of(HugePageMode /*of*/) { return kHugePageWords; }

struct SysctlLimits {
  MUSTER_DESCRIBED(SysctlLimits);
  MUSTER_FIELD(ByName<std::string>, values, "key to expected value; alternatives separated by |");
  MUSTER_FIELD(std::vector<HugePageMode>, transparent_hugepage, "allowed: always, madvise, never");
};

struct ModuleLimits {
  MUSTER_DESCRIBED(ModuleLimits);
  MUSTER_FIELD(Words, required, "modules that must be loaded; a|b for either");
  MUSTER_FIELD(Words, forbidden, "modules that must not be loaded");
};

struct ClockLimits {
  MUSTER_DESCRIBED(ClockLimits);
  MUSTER_FIELD(bool, synchronised, "the clock must be disciplined") = false;
  MUSTER_FIELD(Limit<Seconds>, error_warn_above, "estimated error");
  MUSTER_FIELD(Words, clocksource, "allowed clocksources; empty for any");
};

}  // namespace muster
