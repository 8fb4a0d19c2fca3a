// SPDX-License-Identifier: Apache-2.0
// Which system calls may fail, and how.
#pragma once

#include <optional>
#include <string_view>

#include "tests/e2e/calls/tracer.hpp"

namespace muster::e2e {

struct Call {
  long number = 0;
  std::string_view name;
  std::string_view faults;  // a letter each: h(angs), i EIO, m ENOMEM, f EMFILE, s ENOSPC, r EINTR
};

// Empty for a call that only computes, or that waits no longer than its argument allows.
[[nodiscard]] const Call* call_numbered(long number);

[[nodiscard]] bool may_have(const Call& call, CallFault fault);

// The errno; 0 for none and never_returns.
[[nodiscard]] int code_of(CallFault fault);

}  // namespace muster::e2e
