// SPDX-License-Identifier: Apache-2.0
// One pass of `muster sweep`: collects the reports of earlier jobs, plans new jobs, and submits
// them. It drains no node: that is up to its caller.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "slurm/cluster/controller.hpp"
#include "slurm/cluster/queue.hpp"
#include "slurm/history/history.hpp"
#include "slurm/rules/rules.hpp"
#include "slurm/sweeps/sweep_plan.hpp"

namespace muster::slurm {

struct SweepServices {
  Controller* controller = nullptr;
  Queue* queue = nullptr;
  History* history = nullptr;          // null in a dry run before the first pass
  std::function<std::string()> token;  // returns a new one at every call
  std::function<void(const Event&)> report_event;
};

struct SweepRequest {
  SweepRules rules;
  Time now{};
  bool dry_run = false;  // changes neither Slurm, the history nor a file
};

struct SweepResult {
  std::vector<SweepStanding> standings;  // with the reports of this pass
  std::string trouble;                   // Slurm, the history or the results are unavailable
  std::string bad_rules;                 // an error in muster.yaml
};

[[nodiscard]] SweepResult sweep(const SweepRequest& request, const SweepServices& services);

// The standings without a pass.
[[nodiscard]] SweepResult sweep_status(const SweepRequest& request, const SweepServices& services);

}  // namespace muster::slurm
