// SPDX-License-Identifier: Apache-2.0
// The profiles of checks, and what a profile asks the probes to look for.
#pragma once

#include <string_view>

#include "lib/base/result.hpp"
#include "lib/choice/choice.hpp"
#include "lib/probes/probes.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/profile.hpp"

namespace muster::app {

// load_profile, and every check and probe that the profile names exists.
[[nodiscard]] Result<Profile> read_profile_of(const ProfileSources& sources, std::string_view name);

[[nodiscard]] Wanted wanted_of(const Profile& profile);

}  // namespace muster::app
