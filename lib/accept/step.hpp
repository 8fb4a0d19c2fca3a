// SPDX-License-Identifier: Apache-2.0
// The answer of a node to a step of an acceptance: its identity and the reports of the programs
// that it ran; and the outcome of an attempt by that answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/accept/attempt.hpp"
#include "lib/base/fields.hpp"
#include "lib/report/report.hpp"

namespace muster::accept {

// A part with an identity of its own.
struct Part {
  MUSTER_DESCRIBED(Part);
  MUSTER_FIELD(std::string, kind, "gpu, hca, board");
  MUSTER_FIELD(std::string, device, "gpu3, mlx5_ib0");
  MUSTER_FIELD(std::string, serial, "or the GUID of an HCA");
  MUSTER_FIELD(std::string, model, "");
  MUSTER_FIELD(std::string, firmware, "VBIOS or firmware version");
};

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

// Sets end, why, causes, remarks, seconds and boot_id of an attempt that the node answered.
// `before` is the boot of the last attempt; another one now means that the node was lost.
void judge_attempt(Attempt& attempt, const StepAnswer& answer, std::string_view before = {});

// The same of a group; the answer is that of the node that led it. `names` are the nodes that took
// part by the names that they have for themselves, in the order of attempt.nodes.
void judge_attempt(GroupAttempt& attempt, const StepAnswer& answer,
                   const std::vector<std::string>& names);

}  // namespace muster::accept
