// SPDX-License-Identifier: Apache-2.0
// Carries out what the policy decides for one node: queries Slurm, acts, waits until all drains of
// the same second are visible, queries again, and undoes a drain that exceeds the site's share. The
// state of a drain is kept with the node in Slurm; the history is only written.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/clock.hpp"
#include "slurm/cluster/controller.hpp"
#include "slurm/drains/last_look.hpp"
#include "slurm/history/history.hpp"
#include "slurm/policy/decide.hpp"

namespace muster::slurm {

// One run of a hook on its node.
struct HookRequest {
  const Report* report = nullptr;
  std::string node;  // its name in Slurm
  std::string context;
  std::string job;
  std::string boot_id;
  std::string identity;
  std::string machine;  // see hash_machine
  Rules rules;
  bool dry_run = false;    // decides and reports what it would do; writes nothing
  bool is_remote = false;  // not run by the node, which may be powered down or booting
  // Judges the node as one that is drained for this check: see Situation. The result must outlive
  // the run. None: judge by `report`.
  std::function<const Report*(const std::string& check)> judge_drained = {};
};

// The services of a run. Tests have their own clock and controller.
struct HookServices {
  Controller* controller = nullptr;  // none: Slurm cannot be asked, `trouble` says why
  std::string trouble;
  History* history = nullptr;           // none: events are only reported
  const LastLook* last_look = nullptr;  // none: every health check asks Slurm
  std::function<Time()> now = wall_time;
  std::function<void(std::chrono::milliseconds)> sleep = [](std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
  };
  std::function<void(const Event&)> tell;  // syslog and standard output
  // Waits until no other hook of this node acts, and keeps them waiting until this run ends.
  // Returns why it failed, or an empty string. None: there are no others.
  std::function<std::string()> exclude_others = {};
  // How much of the hook's time is left; none: there is no limit.
  std::function<std::chrono::milliseconds()> left = {};
};

struct HookResult {
  Decision decision;               // the last one
  const Report* report = nullptr;  // the one that it is based on
  bool drained = false;            // the node is drained now, by muster or by others
  bool out_of_reach = false;       // Slurm did not answer, or did not do what it was sent
  std::vector<Event> events;
};

[[nodiscard]] HookResult enforce(const HookRequest& request, const HookServices& services);

}  // namespace muster::slurm
