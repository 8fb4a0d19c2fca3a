// SPDX-License-Identifier: Apache-2.0
// How full file systems may be, which disks and which files there must be.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct DiskLimits {
  Limit<Percent> warn_above, fail_above, inodes_warn_above, inodes_fail_above;
  Words ignore;

  MUSTER_FIELDS(DiskLimits,
                MUSTER_FIELD(warn_above, "space in use"),
                MUSTER_FIELD(fail_above, "space in use"),
                MUSTER_FIELD(inodes_warn_above, "inodes in use"),
                MUSTER_FIELD(inodes_fail_above, "inodes in use"),
                MUSTER_FIELD(ignore, "mount points or file system types to leave out, globs"));
};

struct NvmeLimits {
  Limit<int> count;
  Limit<Bytes> size;
  Percent tolerance{};

  MUSTER_FIELDS(NvmeLimits,
                MUSTER_FIELD(count, "local NVMe devices"),
                MUSTER_FIELD(size, "size of each"),
                MUSTER_FIELD(tolerance, "band around the size, both ways"));
};

struct ProgramLimits {
  Words executable, present;

  MUSTER_FIELDS(ProgramLimits,
                MUSTER_FIELD(executable, "programs that must exist and be executable"),
                MUSTER_FIELD(present, "files that must exist"));
};

struct ContainerStorageLimits {
  Words paths;
  Limit<Bytes> free_min;

  MUSTER_FIELDS(ContainerStorageLimits,
                MUSTER_FIELD(paths, "directories for images and containers"),
                MUSTER_FIELD(free_min, "least free space of each"));
};

}  // namespace muster
