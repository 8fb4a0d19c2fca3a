// SPDX-License-Identifier: Apache-2.0
// The block `repair` of the site's muster.yaml.
#pragma once

#include <filesystem>

#include "lib/base/result.hpp"
#include "lib/profile/load.hpp"
#include "lib/repair/repair_rules.hpp"

namespace muster::repair {

// The defaults if the site does not have it. The folder is below `root`, as the sources are. An
// error names the file, the line and the key.
[[nodiscard]] Result<RepairRules> read_repair_rules(const ProfileSources& sources,
                                                    const std::filesystem::path& root);

}  // namespace muster::repair
