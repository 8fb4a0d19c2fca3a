// SPDX-License-Identifier: Apache-2.0
// Starts evidence collection or repairs in the background after a hook, if the site's block
// `repair` asks for it.
#pragma once

#include "lib/command/output.hpp"
#include "slurm/commands/hook.hpp"

namespace muster::app {

// Starts `muster evidence` after a hook that drained the node, and `muster repair --automatic`
// after a health check that resumed the node or left it drained. Does not wait; a failure only
// appears in syslog.
void start_after_hook(const HookCommand& command, const HookedNode& node, const Caller& caller);

}  // namespace muster::app
