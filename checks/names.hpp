// SPDX-License-Identifier: Apache-2.0
// The names of checks, and those in a profile: a misspelt one would switch its check off without a
// word, so it is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/profile.hpp"

namespace muster {

// The first name that is wrong, with the file and line of the list that it stands in. A glob may
// match nothing as long as it stays within a group of checks: they come with later versions.
[[nodiscard]] Result<void> check_names(const Profile& profile);

// load_profile, and every check and probe that the profile names exists.
[[nodiscard]] Result<Profile> read_profile_of(const ProfileSources& sources, std::string_view name);

// The ids of all checks, in the order of reports.
[[nodiscard]] const std::vector<std::string>& check_ids();

// Whether a glob stands for any check.
[[nodiscard]] bool names_check(std::string_view glob);

}  // namespace muster
