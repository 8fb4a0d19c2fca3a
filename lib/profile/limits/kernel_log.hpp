// SPDX-License-Identifier: Apache-2.0
// The meaning of lines of the kernel log.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

// A class of kernel log lines. A pattern is text within the message, with `*` for anything; a
// leading
// `^` anchors it to the start, so that it matches the kernel's text and not a process name. The
// first matching pattern decides.
struct KernelLogPattern {
  MUSTER_DESCRIBED(KernelLogPattern);
  MUSTER_FIELD(std::string, pattern,
               "text with * for anything; ^ first for the start of the message");
  MUSTER_FIELD(std::string, kind, "class: see kinds");
  MUSTER_FIELD(Remedy, remedy, "what to do") = Remedy::none;
};

struct KernelLogLimits {
  MUSTER_DESCRIBED(KernelLogLimits);
  MUSTER_FIELD(Seconds, window, "how far back, at most to the boot") = {};
  MUSTER_FIELD(Seconds, coalesce,
               "lines of one class and device within this time are one incident") = {};
  MUSTER_FIELD(ByName<Outcome>, kinds, "class to outcome: fail, warn or pass");
  MUSTER_FIELD(std::vector<KernelLogPattern>, patterns, "what each line means");
};

}  // namespace muster
