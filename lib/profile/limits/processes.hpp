// SPDX-License-Identifier: Apache-2.0
// What processes may use, and for how long they may be stuck.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct ResourceLimits {
  bool memlock_unlimited = false;
  Limit<int> open_files_min;

  MUSTER_FIELDS(ResourceLimits,
                MUSTER_FIELD(memlock_unlimited, "locked memory must be unlimited"),
                MUSTER_FIELD(open_files_min, "least soft limit of open files"));
};

struct StuckTaskLimits {
  Limit<Seconds> uninterruptible_for;
  Words waits_of_users;
  Limit<int> zombies_warn_above;

  MUSTER_FIELDS(StuckTaskLimits,
                MUSTER_FIELD(uninterruptible_for, "longest time in D state"),
                MUSTER_FIELD(waits_of_users,
                             "functions of the kernel (wchan), as globs, in which a user can make "
                             "a task wait: it warns only"),
                MUSTER_FIELD(zombies_warn_above, "number of zombies"));
};

}  // namespace muster
