// SPDX-License-Identifier: Apache-2.0

#include "repair/rules.hpp"

#include "lib/profile/site.hpp"

namespace muster::repair {

Result<RepairRules> read_repair_rules(const ProfileSources& sources,
                                      const std::filesystem::path& root) {
  TRY_ASSIGN(const auto site, read_site(sources));
  RepairRules rules;
  TRY(read_block(site, "repair", site.repair, rules, check_values));
  const auto folder = std::filesystem::path(rules.folder).relative_path();
  rules.folder = (std::filesystem::absolute(root) / folder).string();
  return rules;
}

}  // namespace muster::repair
