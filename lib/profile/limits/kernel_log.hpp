// SPDX-License-Identifier: Apache-2.0
// What lines of the kernel log mean.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

// One class of lines of the kernel log. A pattern is text that must occur in the message, where `*`
// stands for anything, all else for itself; a leading `^` ties it to the message's start, so that
// the kernel's own words come before any process name. The first pattern that matches decides.
struct KernelLogPattern {
  std::string pattern, kind, remedy;

  MUSTER_FIELDS(KernelLogPattern,
                MUSTER_FIELD(pattern,
                             "text with * for anything; ^ first for the start of the message"),
                MUSTER_FIELD(kind, "class: see kinds"),
                MUSTER_CHOICE(remedy, kRemedyWords, "what to do"));
};

struct KernelLogLimits {
  Seconds window{}, coalesce{};
  std::map<std::string, std::string> kinds;
  std::vector<KernelLogPattern> patterns;

  MUSTER_FIELDS(KernelLogLimits,
                MUSTER_FIELD(window, "how far back, never beyond the boot"),
                MUSTER_FIELD(coalesce, "lines of one class and device this near are one incident"),
                MUSTER_CHOICE(kinds, kOutcomeWords, "class to outcome: fail, warn or pass"),
                MUSTER_FIELD(patterns, "what each line means"));
};

}  // namespace muster
