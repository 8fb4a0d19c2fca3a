// SPDX-License-Identifier: Apache-2.0
// Rules for what a profile says about XIDs and SXIDs.
#pragma once

#include <optional>

#include "lib/profile/limit_rules.hpp"

namespace muster {

// A number that is none or has two meanings, or a class without an outcome.
[[nodiscard]] std::optional<BrokenLimit> find_broken_xid(const Profile& profile);

}  // namespace muster
