// SPDX-License-Identifier: Apache-2.0
// The names of checks in a profile. A misspelt name is an error, because it would silently disable
// its check.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/profile.hpp"

namespace muster {

// An error for the first unknown name, with file and line of its list. A glob without matches is
// allowed within a group of checks, for checks of later versions.
[[nodiscard]] Result<void> check_names(const Profile& profile);

// load_profile() and check_names().
[[nodiscard]] Result<Profile> read_profile_of(const ProfileSources& sources, std::string_view name);

// The ids of all checks, in the order of reports.
[[nodiscard]] const std::vector<std::string>& check_ids();

// True if a glob matches any check.
[[nodiscard]] bool names_check(std::string_view glob);

}  // namespace muster
