// SPDX-License-Identifier: Apache-2.0
// The driver of an acceptance: starts what next() returns, judges the answers and records them,
// until nothing is left to do.
#pragma once

#include <functional>
#include <string>

#include "accept/fleet.hpp"
#include "accept/run_folder.hpp"

namespace muster::accept {

enum class LoopEnd {
  complete,  // every node has a verdict
  breaker,   // too many nodes fail one check
  waiting,   // the remaining nodes cannot be reached
  stopped,   // it was asked to stop
};

struct LoopResult {
  LoopEnd end = LoopEnd::complete;
  Actions last;
};

struct LoopHooks {
  // Returns how often the run was asked to stop. After the second time, it no longer waits for
  // running steps.
  std::function<int()> stops = [] { return 0; };
  // Called when the run was asked to stop, before it waits for the running steps, because it may be
  // killed while it waits.
  std::function<void(const Actions&)> stopping = [](const Actions&) {};
  // Called after each look at the results.
  std::function<void(const Actions&)> progress = [](const Actions&) {};
  // Called with a line for each attempt that ends.
  std::function<void(const std::string&)> ended = [](const std::string&) {};
};

// Returns an error only if the folder cannot be read or written: nothing relies on memory.
[[nodiscard]] Result<LoopResult> run_acceptance(RunFolder& folder, Fleet& fleet,
                                                const LoopHooks& hooks = {});

}  // namespace muster::accept
