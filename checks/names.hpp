// SPDX-License-Identifier: Apache-2.0
// A profile names checks and probes; a name that nobody bears would leave them out in silence.
#pragma once

#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster {

// The first name that is wrong, with the file and line of the list that it stands in. A glob may
// match nothing as long as it stays within a group of checks: they come with later versions.
[[nodiscard]] Result<void> check_names(const Profile& profile);

}  // namespace muster
