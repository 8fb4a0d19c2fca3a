// SPDX-License-Identifier: Apache-2.0
// The limits of the checks env.*: variables and libraries that jobs find.
#pragma once

#include <map>
#include <string>

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct EnvNcclLimits {
  std::map<std::string, std::string> require, harmful;

  MUSTER_FIELDS(EnvNcclLimits,
                MUSTER_FIELD(require, "variable to expected value"),
                MUSTER_FIELD(harmful, "variable to the value that hurts, a glob"));
};

struct EnvLibraryLimits {
  Words required, optional;
  Limit<std::string> nccl_min;

  MUSTER_FIELDS(EnvLibraryLimits,
                MUSTER_FIELD(required, "sonames that must open"),
                MUSTER_FIELD(optional, "sonames that are recorded"),
                MUSTER_FIELD(nccl_min, "least NCCL version"));
};

struct EnvLimits {
  EnvNcclLimits nccl;
  EnvLibraryLimits libraries;

  MUSTER_FIELDS(EnvLimits, MUSTER_FIELD(nccl, ""), MUSTER_FIELD(libraries, ""));
};

}  // namespace muster
