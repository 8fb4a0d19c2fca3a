// SPDX-License-Identifier: Apache-2.0
// The block `slurm` of the site's muster.yaml, looked at as a whole and not only up to its first
// mistake.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/sources.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::app {

struct SlurmBlock {
  slurm::Rules rules;                 // with the values of the keys that are right
  std::vector<std::string> troubles;  // one line for each mistake, with file and line
};

// Reads the block, and looks below `root` for the files that it names.
[[nodiscard]] SlurmBlock validate_slurm_block(const SiteFile& site, std::string_view root);

}  // namespace muster::app
