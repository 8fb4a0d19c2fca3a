// SPDX-License-Identifier: Apache-2.0
// What processes may use, and for how long they may be stuck.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct ResourceLimits {
  MUSTER_DESCRIBED(ResourceLimits);
  MUSTER_FIELD(bool, memlock_unlimited, "locked memory must be unlimited") = false;
  MUSTER_FIELD(Limit<int>, open_files_min, "least soft limit of open files");
};

struct StuckTaskLimits {
  MUSTER_DESCRIBED(StuckTaskLimits);
  MUSTER_FIELD(Limit<Seconds>, uninterruptible_for, "longest time in D state");
  MUSTER_FIELD(Words, waits_of_users,
               "functions of the kernel (wchan), as globs, in which a user can make "
               "a task wait: it warns only");
  MUSTER_FIELD(Limit<int>, zombies_warn_above, "number of zombies");
};

}  // namespace muster
