// SPDX-License-Identifier: Apache-2.0
// The names of checks and probes in a profile: a misspelt one would switch its check off without a
// word, so it is an error.
#pragma once

#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster {

// The first name that is wrong, with the file and line of the list that it stands in. A glob may
// match nothing as long as it stays within a group of checks: they come with later versions.
[[nodiscard]] Result<void> check_names(const Profile& profile);

}  // namespace muster
