// SPDX-License-Identifier: Apache-2.0
// The answer of a node to a step of an acceptance: its identity and the reports of the programs
// that it ran; and the outcome of an attempt by that answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/accept/attempt.hpp"
#include "lib/accept/plan.hpp"
#include "lib/base/fields.hpp"
#include "lib/node/parts.hpp"
#include "lib/report/report.hpp"

namespace muster::accept {

// Checks of an acceptance itself.
inline constexpr std::string_view kStepCheck = "accept.step";        // it could not be run
inline constexpr std::string_view kOrderCheck = "accept.order";      // not what was ordered
inline constexpr std::string_view kSerialCheck = "accept.serial";    // a serial at two nodes
inline constexpr std::string_view kProfileCheck = "accept.profile";  // not that of its group
inline constexpr std::string_view kGpusCheck = "accept.gpus";        // no GPU was observed
inline constexpr std::string_view kClockCheck = "accept.clock";      // not that of the driver
inline constexpr std::string_view kLostCheck = "accept.lost";        // it stopped answering once
inline constexpr std::string_view kSlowerCheck = "accept.slower";    // than before the soak

struct StepAnswer {
  static constexpr std::string_view kSchema = "muster.step/1";
  MUSTER_DESCRIBED(StepAnswer);
  MUSTER_REQUIRED(std::string, host, "the name that the node has for itself");
  MUSTER_FIELD(std::string, boot_id, "");
  MUSTER_REQUIRED(std::string, muster, "version");
  MUSTER_FIELD(std::int64_t, at, "the node's wall clock at the end, Unix time") = 0;
  MUSTER_FIELD(double, seconds, "by the steady clock") = 0;
  MUSTER_UNLESS_EMPTY(std::string, physical_host, "");
  MUSTER_UNLESS_EMPTY(std::string, profile, "");
  MUSTER_UNLESS_EMPTY(std::vector<Part>, parts, "of inventory and after");
  MUSTER_UNLESS_EMPTY(ByName<std::string>, stack, "kernel, driver, os, nccl ...: their versions");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, kernel_lines, "that findings rest on");
  MUSTER_UNLESS_EMPTY(std::string, refused, "why it ran nothing: other work on the GPUs ...");
  MUSTER_UNLESS_EMPTY(std::vector<Report>, reports, "of muster check and muster-bench");
};

// Sets all but node, stage, number, started and ended of an attempt that the node answered. Its
// parts and its host are compared with those that were ordered, and its clock with `ended`.
void judge_attempt(Attempt& attempt, const StepAnswer& answer, const OrderedNode& ordered);

// Adds a remark for the largest loss of speed of each test since the stage `node`, from 5% on: two
// runs on a good GPU differ by up to 3%.
void compare_speed(Attempt& attempt, const StepAnswer& before, const StepAnswer& after);

// The same as judge_attempt for a group; the answer is that of the node that led it, whose report
// names nodes as they name themselves: `own_names`, in the order of attempt.nodes.
void judge_attempt(GroupAttempt& attempt, const StepAnswer& answer,
                   const std::vector<std::string>& own_names);

}  // namespace muster::accept
