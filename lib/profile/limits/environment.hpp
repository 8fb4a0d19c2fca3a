// SPDX-License-Identifier: Apache-2.0
// The limits of the checks env.* and muster.*: variables and libraries for jobs, and the probes
// that must answer.
#pragma once

#include <string>

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct EnvNcclLimits {
  MUSTER_DESCRIBED(EnvNcclLimits);
  MUSTER_FIELD(ByName<std::string>, require, "variable to expected value");
  MUSTER_FIELD(ByName<std::string>, harmful, "variable to a harmful value, a glob");
};

struct EnvLibraryLimits {
  MUSTER_DESCRIBED(EnvLibraryLimits);
  MUSTER_FIELD(Words, required, "sonames that must load");
  MUSTER_FIELD(Words, optional, "sonames that are recorded");
  MUSTER_FIELD(Limit<std::string>, nccl_min, "oldest NCCL version");
};

struct EnvLimits {
  MUSTER_DESCRIBED(EnvLimits);
  MUSTER_FIELD(EnvNcclLimits, nccl, "");
  MUSTER_FIELD(EnvLibraryLimits, libraries, "");
};

struct MusterProbeLimits {
  MUSTER_DESCRIBED(MusterProbeLimits);
  MUSTER_FIELD(Words, fatal, "probes whose time-out fails the node");
};

struct MusterLimits {
  MUSTER_DESCRIBED(MusterLimits);
  MUSTER_FIELD(MusterProbeLimits, probes, "");
};

}  // namespace muster
