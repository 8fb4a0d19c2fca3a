// SPDX-License-Identifier: Apache-2.0
// What must hold between the values of a whole profile, whichever files they came from.
#pragma once

#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster {

// The first rule that is broken, with the file and line of the value that breaks it.
[[nodiscard]] Result<void> check_rules(const Profile& profile);

}  // namespace muster
