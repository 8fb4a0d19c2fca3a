// SPDX-License-Identifier: Apache-2.0
// How full file systems may be, which disks and which files there must be.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct DiskLimits {
  MUSTER_DESCRIBED(DiskLimits);
  MUSTER_FIELD(Limit<Percent>, warn_above, "space in use");
  MUSTER_FIELD(Limit<Percent>, fail_above, "space in use");
  MUSTER_FIELD(Limit<Percent>, inodes_warn_above, "inodes in use");
  MUSTER_FIELD(Limit<Percent>, inodes_fail_above, "inodes in use");
  MUSTER_FIELD(Words, ignore, "mount points or file system types to leave out, globs");
};

struct NvmeLimits {
  MUSTER_DESCRIBED(NvmeLimits);
  MUSTER_FIELD(Limit<int>, count, "local NVMe devices");
  MUSTER_FIELD(Limit<Bytes>, size, "size of each");
  MUSTER_FIELD(Percent, tolerance, "band around the size, both ways") = {};
};

struct ProgramLimits {
  MUSTER_DESCRIBED(ProgramLimits);
  MUSTER_FIELD(Words, executable, "programs that must exist and be executable");
  MUSTER_FIELD(Words, present, "files that must exist");
};

struct ContainerStorageLimits {
  MUSTER_DESCRIBED(ContainerStorageLimits);
  MUSTER_FIELD(Words, paths, "directories for images and containers");
  MUSTER_FIELD(Limit<Bytes>, free_min, "least free space of each");
};

}  // namespace muster
