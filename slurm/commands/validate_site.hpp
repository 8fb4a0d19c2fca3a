// SPDX-License-Identifier: Apache-2.0
// Checks the whole block `slurm` of the site's muster.yaml, not only up to its first mistake.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/sources.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::app {

struct SlurmBlock {
  slurm::Rules rules;                 // with the values of the valid keys
  std::vector<std::string> troubles;  // one line for each mistake, with file and line
};

// Reads the block, and looks below `root` for the files that it names.
[[nodiscard]] SlurmBlock validate_slurm_block(const SiteFile& site, std::string_view root);

}  // namespace muster::app
