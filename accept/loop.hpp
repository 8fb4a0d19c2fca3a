// SPDX-License-Identifier: Apache-2.0
// The driver of an acceptance: starts what next() says, judges the answers, and records them, until
// nothing more can happen.
#pragma once

#include <functional>
#include <string>

#include "accept/fleet.hpp"
#include "accept/run_folder.hpp"

namespace muster::accept {

enum class LoopEnd {
  complete,  // every node has a verdict
  breaker,   // too many nodes fail one check
  waiting,   // the nodes that are left cannot be reached
  stopped,   // asked to
};

struct LoopResult {
  LoopEnd end = LoopEnd::complete;
  Actions last;
};

struct LoopHooks {
  // How often the run was asked to stop. From 2 on, running steps are not waited for.
  std::function<int()> stops = [] { return 0; };
  // Called when the run was asked to stop, before it waits for the running steps: it may be killed.
  std::function<void(const Actions&)> stopping = [](const Actions&) {};
  // Called after each look at the results.
  std::function<void(const Actions&)> progress = [](const Actions&) {};
  // Called with a line for each attempt that ends.
  std::function<void(const std::string&)> ended = [](const std::string&) {};
};

// An error is one of the folder: nothing goes on from memory.
[[nodiscard]] Result<LoopResult> run_acceptance(RunFolder& folder, Fleet& fleet,
                                                const LoopHooks& hooks = {});

}  // namespace muster::accept
