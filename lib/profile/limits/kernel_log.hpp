// SPDX-License-Identifier: Apache-2.0
// What lines of the kernel log mean.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

// One class of lines of the kernel log. A pattern is text that must occur in the message, where `*`
// stands for anything, all else for itself; a leading `^` ties it to the message's start, so that
// the kernel's own words come before any process name. The first pattern that matches decides.
struct KernelLogPattern {
  MUSTER_DESCRIBED(KernelLogPattern);
  MUSTER_FIELD(std::string, pattern,
               "text with * for anything; ^ first for the start of the message");
  MUSTER_FIELD(std::string, kind, "class: see kinds");
  MUSTER_FIELD(Remedy, remedy, "what to do") = Remedy::none;
};

struct KernelLogLimits {
  MUSTER_DESCRIBED(KernelLogLimits);
  MUSTER_FIELD(Seconds, window, "how far back, never beyond the boot") = {};
  MUSTER_FIELD(Seconds, coalesce, "lines of one class and device this near are one incident") = {};
  MUSTER_FIELD(ByName<Outcome>, kinds, "class to outcome: fail, warn or pass");
  MUSTER_FIELD(std::vector<KernelLogPattern>, patterns, "what each line means");
};

}  // namespace muster
