// SPDX-License-Identifier: Apache-2.0
// The answer of a node to a step of an acceptance: its identity, and the reports of the programs
// that it ran. Also the outcome of an attempt, judged from that answer.
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
inline constexpr std::string_view kStepCheck = "accept.step";        // the step could not be run
inline constexpr std::string_view kOrderCheck = "accept.order";      // not what was ordered
inline constexpr std::string_view kSerialCheck = "accept.serial";    // two nodes share a serial
inline constexpr std::string_view kProfileCheck = "accept.profile";  // differs from its group's
inline constexpr std::string_view kGpusCheck = "accept.gpus";        // no GPU was observed
inline constexpr std::string_view kClockCheck = "accept.clock";      // differs from the driver's
inline constexpr std::string_view kLostCheck = "accept.lost";        // the node was lost once
inline constexpr std::string_view kChangedCheck = "accept.changed";  // a part or a version
inline constexpr std::string_view kSlowerCheck = "accept.slower";    // slower than before the soak

struct StepAnswer {
  static constexpr std::string_view kSchema = "muster.step/1";
  MUSTER_DESCRIBED(StepAnswer);
  MUSTER_REQUIRED(std::string, host, "the node's own host name");
  MUSTER_FIELD(std::string, boot_id, "");
  MUSTER_REQUIRED(std::string, muster, "version");
  MUSTER_FIELD(std::int64_t, at, "the node's wall clock at the end, Unix time") = 0;
  MUSTER_FIELD(double, seconds, "by the steady clock") = 0;
  MUSTER_UNLESS_EMPTY(std::string, physical_host, "");
  MUSTER_UNLESS_EMPTY(std::string, profile, "");
  MUSTER_UNLESS_EMPTY(std::vector<Part>, parts, "only in the stages inventory and after");
  MUSTER_UNLESS_EMPTY(ByName<std::string>, stack, "versions of kernel, driver, os, nccl ...");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, kernel_lines, "lines that findings are based on");
  MUSTER_UNLESS_EMPTY(std::string, refused, "why it ran nothing, such as other work on the GPUs");
  MUSTER_UNLESS_EMPTY(std::vector<Report>, reports, "from muster check and muster-bench");
};

// Sets all members of an attempt that the node answered, except node, stage, number, started and
// ended. Compares the node's parts and host with the order, and its clock with `ended`.
void judge_attempt(Attempt& attempt, const StepAnswer& answer, const OrderedNode& ordered);

// Adds a remark for the largest loss of speed of each test since the stage `node` if it is at least
// 5%: two runs on a good GPU differ by up to 3%.
void compare_speed(Attempt& attempt, const StepAnswer& before, const StepAnswer& after);

// Like judge_attempt() above, for a group. The answer comes from the node that led it, whose report
// calls nodes by their own host names: `own_names`, in the order of attempt.nodes.
void judge_attempt(GroupAttempt& attempt, const StepAnswer& answer,
                   const std::vector<std::string>& own_names);

}  // namespace muster::accept
