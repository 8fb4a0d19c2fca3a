// SPDX-License-Identifier: Apache-2.0
// What a hook starts in the background, if the site's block `repair` wants it.
#pragma once

#include "lib/command/output.hpp"
#include "slurm/commands/hook.hpp"

namespace muster::app {

// A hook that drained the node starts `muster evidence`. A health check of a node that stays
// drained, or that it resumed, starts `muster repair
// --automatic`. Nothing is waited for, and a failure only shows in syslog.
void start_after_hook(const HookCommand& command, const HookedNode& node, const Caller& caller);

}  // namespace muster::app
