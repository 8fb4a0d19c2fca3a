// SPDX-License-Identifier: Apache-2.0
// `muster hook`: what Slurm's prolog, epilog and health check run.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/report/failure.hpp"
#include "lib/report/report.hpp"
#include "slurm/commands/slurm_commands.hpp"

namespace muster::app {

inline constexpr int kHookPassed = 0;
inline constexpr int kHookFailed = 1;

// The time for one run before the site's rules are known.
inline constexpr std::chrono::seconds kHookBudget{45};

// A process that the job of an epilog left on its GPUs.
struct LeftOnGpus {
  unsigned pid = 0;
  unsigned user = 0;
};

// The node observed and judged, as far as a hook needs it.
struct CheckedNode {
  Report report;
  std::string boot_id;   // empty where unknown
  std::string identity;  // GPU UUIDs and HCA GUIDs with blanks between; empty where none is known
  // Judges the node as one that was drained for `check`: that check runs whatever the context
  // leaves out, and since nobody works on the node, it is judged as strictly as after a job.
  std::function<Report(const std::string& check)> judge_drained;
  std::vector<LeftOnGpus> left_on_gpus = {};  // after a job, not of root
  Clock::duration tested{};                   // how long the tests that were asked for took
};

// Observes and judges this node as `command` says, and what the check `drained_for` needs with it
// (empty for none). The run is remembered, unless it is a dry one. All of it ends by the deadline,
// but for the tests that `command` asks for, which have a time of their own.
using CheckNode =
    std::function<Attempt<CheckedNode>(const HookCommand& command, const std::string& drained_for,
                                       const Caller& caller, Deadline& deadline)>;

// Benchmarks this node, on which nobody works, as `muster-bench node --level LEVEL`; all of it ends
// by `until`.
using SweepNode = std::function<Result<Report>(const HookCommand& command, const std::string& level,
                                               const Caller& caller, Clock::time_point until)>;

// Checks the node and does to it what the policy decides. Returns 0 or 1, and never anything else:
// a node is not failed because muster is broken, unless the site says so.
[[nodiscard]] int run_hook(const HookCommand& command, const Caller& caller, Deadline& deadline,
                           const CheckNode& check_node, const SweepNode& sweep_node = {});

// Reports a hook that crashed or missed its deadline to syslog and to the history; nothing in a dry
// run.
void report_lost_hook(const HookCommand& command, const Caller& caller, std::string_view message);

}  // namespace muster::app
