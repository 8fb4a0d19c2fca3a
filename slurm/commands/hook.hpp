// SPDX-License-Identifier: Apache-2.0
// `muster hook`: the program of Slurm's prolog, epilog and health check.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "lib/report/report.hpp"
#include "slurm/commands/slurm_commands.hpp"

namespace muster::app {

inline constexpr int kHookPassed = 0;
inline constexpr int kHookFailed = 1;

// The time for one run before the site's rules are known.
inline constexpr std::chrono::seconds kHookBudget{45};

// The result of checking the node.
struct CheckedNode {
  Report report;
  std::string boot_id;   // empty if unknown
  std::string identity;  // GPU UUIDs and HCA GUIDs separated by blanks; empty if none is known
  std::string machine;   // "host NAME" of the physical host, or "id MACHINE-ID"; empty if unknown
  // Judges the node as one that was drained for `check`: that check runs even if the context leaves
  // it out, and the node is judged as strictly as after a job, because no job runs on it.
  std::function<Report(const std::string& check)> judge_drained;
  Clock::duration tested{};  // how long the requested tests took
};

// Observes and judges this node as `command` says, including what the check `drained_for` needs
// (empty for none). The run is remembered, unless it is a dry run. Everything ends by the deadline,
// except the tests that `command` asks for, which have their own time limit.
using CheckNode =
    std::function<Attempt<CheckedNode>(const HookCommand& command, const std::string& drained_for,
                                       const Caller& caller, Deadline& deadline)>;

// Benchmarks this node, on which no job runs, as `muster-bench node --level LEVEL`. All of it ends
// by `until`.
using SweepNode = std::function<Result<Report>(const HookCommand& command, const std::string& level,
                                               const Caller& caller, Clock::time_point until)>;

// The node after a hook.
struct HookedNode {
  std::string name;          // in Slurm
  bool was_drained = false;  // by this run
  bool was_resumed = false;  // by this run
  bool is_drained = false;   // now
};

// Starts work in the background; called last, and not in a dry run.
using AfterHook = std::function<void(const HookCommand& command, const HookedNode& node)>;

// Checks the node and acts on it as the policy decides. Returns 0 or 1 only: muster's own failure
// fails no node, unless the site wants it.
[[nodiscard]] int run_hook(const HookCommand& command, const Caller& caller, Deadline& deadline,
                           const CheckNode& check_node, const SweepNode& sweep_node = {},
                           const AfterHook& after = {});

// Reports a hook that crashed or missed its deadline to syslog and in the history, unless it is a
// dry run.
void report_lost_hook(const HookCommand& command, const Caller& caller, std::string_view message);

}  // namespace muster::app
