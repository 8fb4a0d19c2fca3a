// SPDX-License-Identifier: Apache-2.0
// One pass of `muster sweep`: takes in what earlier jobs left, plans, and submits. Whom
// it confirms to be bad, somebody else drains.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "slurm/cluster/controller.hpp"
#include "slurm/cluster/queue.hpp"
#include "slurm/history/history.hpp"
#include "slurm/rules/sweep_rules.hpp"
#include "slurm/sweeps/sweep_plan.hpp"
#include "slurm/sweeps/sweep_standing.hpp"

namespace muster::slurm {

struct SweepServices {
  Controller* controller = nullptr;
  Queue* queue = nullptr;
  History* history = nullptr;          // null: there is none yet; only where nothing is changed
  std::function<std::string()> token;  // another one with every call
  std::function<void(const Event&)> tell;
};

struct SweepRequest {
  SweepRules rules;
  Time now{};
  bool dry_run = false;  // reads, plans and says; neither Slurm nor the history nor a file changes
};

struct SweepResult {
  std::vector<SweepStanding> standings;  // after what was taken in
  std::string trouble;                   // Slurm, the history or the results cannot be reached
  std::string bad_rules;                 // what the site must say otherwise
};

[[nodiscard]] SweepResult sweep(const SweepRequest& request, const SweepServices& services);

// What a pass would answer, without doing anything.
[[nodiscard]] SweepResult sweep_status(const SweepRequest& request, const SweepServices& services);

}  // namespace muster::slurm
