// SPDX-License-Identifier: Apache-2.0
#include "checks/app/hook_check.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "checks/app/inspect.hpp"

namespace muster::app {
namespace {

// UUIDs of GPUs and GUIDs of HCAs, sorted: who this hardware is.
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

Attempt<CheckedNode> check_node(const HookCommand& command,
                                const std::string& drained_for,
                                const Caller& caller,
                                Deadline& deadline) {
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
  auto inspected = inspect(check, caller, deadline);
  if (!inspected) return tl::unexpected(inspected.error());
  if (!command.dry_run) remember(inspected->observed, caller, deadline);
  const auto shared = std::make_shared<const Inspected>(*std::move(inspected));
  const auto& snapshot = shared->observed.snapshot;
  return CheckedNode{
      .report = shared->report,
      .boot_id = snapshot.identity->boot_id ? *snapshot.identity->boot_id : "",
      .identity = identity_of(snapshot),
      .judge_drained = [shared, context = command.context](const std::string& drained_check) {
        return judge_drained(*shared, context, drained_check);
      }};
}

}  // namespace muster::app
