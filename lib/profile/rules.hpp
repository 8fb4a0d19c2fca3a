// SPDX-License-Identifier: Apache-2.0
// The relations that must hold between the values of a profile, whichever files set them.
#pragma once

#include <map>
#include <string>

#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster {

// `numbers` are the profile's, by path. The error names the file and line of the value at fault.
[[nodiscard]] Result<void> check_rules(const Profile& profile,
                                       const std::map<std::string, double>& numbers);

}  // namespace muster
