// SPDX-License-Identifier: Apache-2.0
#include "checks/app/hook_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "checks/app/inspect.hpp"
#include "checks/app/run_benchmarks.hpp"

namespace muster::app {
namespace {

// Identifies the hardware: the sorted UUIDs of GPUs and GUIDs of HCAs.
std::string identity_of(const Snapshot& snapshot) {
  std::set<std::string> members;
  for (const auto& gpu : snapshot.nvml->gpus) {
    if (gpu.uuid) members.insert(*gpu.uuid);
  }
  for (const auto& hca : snapshot.infiniband->hcas) {
    if (hca.node_guid) members.insert(*hca.node_guid);
  }
  return fmt::format("{}", fmt::join(members, " "));
}

}  // namespace

Attempt<CheckedNode> check_node(const HookCommand& command, const std::string& drained_for,
                                const Caller& caller, Deadline& deadline) {
  const std::chrono::duration<double> allowed = deadline.when() - caller.started;
  const CheckCommand check{.profile = command.profile,
                           .context = command.context,
                           .settings = command.settings,
                           .nhc_conf = command.nhc_conf,
                           .root = command.root,
                           .nvml = command.nvml,
                           .state = command.state,
                           .deadline = Seconds{allowed.count()},
                           .also = drained_for};
  TRY_ASSIGN(auto inspected, inspect(check, caller, deadline));
  if (!command.dry_run) remember(inspected.observed, caller, deadline);
  Clock::duration tested{};
  if (!command.tests.empty() && command.root == "/") {
    tested = add_node_tests(inspected.report, inspected.observed.snapshot, command.tests,
                            to_duration(command.tests_budget), bench_for(check, caller));
  }
  const auto shared = std::make_shared<const Inspected>(std::move(inspected));
  const auto& snapshot = shared->observed.snapshot;
  return CheckedNode{.report = shared->report,
                     .boot_id = snapshot.identity->boot_id ? *snapshot.identity->boot_id : "",
                     .identity = identity_of(snapshot),
                     .judge_drained =
                         [shared, context = command.context](const std::string& drained_check) {
                           return judge_drained(*shared, context, drained_check);
                         },
                     .tested = tested};
}

Result<Report> sweep_node(const HookCommand& command, const std::string& level,
                          const Caller& caller, Clock::time_point until) {
  if (command.root != "/") return make_error("cannot measure a node below --root");
  auto bench = bench_for({.profile = command.profile, .settings = command.settings}, caller);
  bench.most_output = 8UL * 1024 * 1024;
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(until - Clock::now());
  const auto ended =
      run_bench(bench,
                {"node", fmt::format("--level={}", level),
                 fmt::format("--budget={}s", std::max<long>(left.count(), 1)), "--format=json"},
                until);
  return ended ? parse_report(ended->out) : tl::unexpected(ended.error());
}

}  // namespace muster::app
