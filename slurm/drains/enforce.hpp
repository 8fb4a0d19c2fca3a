// SPDX-License-Identifier: Apache-2.0
// Carries out what the policy decides for one node: asks Slurm right before, acts, waits until the
// node's drain has a rank among all others, looks again, takes back a drain that the site's share
// does not cover, and writes all of it to the history.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/clock.hpp"
#include "slurm/cluster/controller.hpp"
#include "slurm/history/history.hpp"
#include "slurm/policy/decide.hpp"

namespace muster::slurm {

// What one run of a hook asks to be done about its node.
struct HookRequest {
  const Report* report = nullptr;
  std::string node;  // as Slurm calls it
  std::string context;
  std::string job;
  std::string boot_id;
  std::string identity;
  Rules rules;
  bool dry_run = false;  // decides and says what it would do; the history is not written
  // Judges the node for whether `drain` may end: see Situation. It must outlive the run. None: by
  // `report`.
  std::function<const Report*(const OwnDrain& drain)> judge_drained = {};
};

// What a run works with. Tests have a clock and a controller of their own.
struct HookServices {
  Controller* controller = nullptr;  // none: Slurm cannot be asked, `trouble` says why
  std::string trouble;
  History* history = nullptr;  // none: what is drained stays so until an admin resumes it
  std::function<Time()> now = wall_time;
  std::function<void(std::chrono::milliseconds)> sleep = [](std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
  };
  std::function<void(const Event&)> tell;  // syslog and standard output
  // Waits until no other hook of this node acts, until this run ends: why it goes on without, empty
  // where it did. None: nobody else is there.
  std::function<std::string()> exclude_others = {};
  // A drain that the history could not take was sent: a later run is to ask Slurm about it.
  std::function<void()> ask_again = {};
  // What is left of the hook's time; none: as long as it takes.
  std::function<std::chrono::milliseconds()> left = {};
};

// What comes of it.
struct HookResult {
  Decision decision;               // the last one
  const Report* report = nullptr;  // that it rests on
  bool drained = false;            // the node is drained now, by whomever
  bool out_of_reach = false;       // Slurm could not be asked or did not do what it was told
  std::vector<Event> events;
};

[[nodiscard]] HookResult enforce(const HookRequest& request, const HookServices& services);

}  // namespace muster::slurm
