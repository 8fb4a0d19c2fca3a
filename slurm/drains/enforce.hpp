// SPDX-License-Identifier: Apache-2.0
// Carries out what the policy decides for one node: asks Slurm right before, acts, waits until the
// node's drain has a rank among all others, looks again, takes back a drain that the site's share
// does not cover, and writes all of it to the history.
#pragma once

#include "slurm/drains/hook_request.hpp"

namespace muster::slurm {

[[nodiscard]] HookResult enforce(const HookRequest& request, const HookServices& services);

}  // namespace muster::slurm
