// SPDX-License-Identifier: Apache-2.0
// The part of a stage that runs on a node: `muster accept --step REQUEST`. Runs muster's programs
// and prints their reports, with the identity of the node, as one framed line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/accept/plan.hpp"
#include "lib/accept/step.hpp"
#include "lib/base/fields.hpp"
#include "lib/command/output.hpp"
#include "lib/node/snapshot.hpp"

namespace muster::accept {

// The argument of --step.
struct StepRequest {
  static constexpr std::string_view kSchema = "muster.step_request/1";
  MUSTER_DESCRIBED(StepRequest);
  MUSTER_REQUIRED(std::string, node, "as ordered");
  MUSTER_REQUIRED(Stage, stage, "") = Stage::inventory;
  MUSTER_REQUIRED(std::int64_t, deadline_s, "") = 0;
  MUSTER_FIELD(std::int64_t, slice_s, "how long to load the GPUs") = 0;
  MUSTER_FIELD(std::string, level, "level of muster-bench node");
  MUSTER_FIELD(std::string, profile, "");
  MUSTER_FIELD(std::vector<std::string>, settings, "");
};

[[nodiscard]] StepRequest step_request(const Plan& plan, const std::string& node, Stage stage);

// Returns the identity of a node, its parts and versions, from its snapshot.
[[nodiscard]] StepAnswer identity_of(const Snapshot& snapshot);

// Returns why no test may load the GPUs, such as "gpu3 is used by python3 (4242)"; empty if they
// are idle.
[[nodiscard]] std::string work_on(const Snapshot& snapshot);

// Ends without an answer if standard input is a pipe and is closed, which means that the driver is
// gone. Returns the exit status.
[[nodiscard]] int run_step(const std::string& request, const Caller& caller);

}  // namespace muster::accept
