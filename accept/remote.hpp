// SPDX-License-Identifier: Apache-2.0
// Fleets of real nodes, reached with Slurm steps, ssh, mpirun or a site's own program, or only this
// machine.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "accept/fleet.hpp"
#include "lib/accept/plan.hpp"
#include "lib/process/startup.hpp"

namespace muster::accept {

struct RemoteSetup {
  std::string by;                // slurm, ssh, mpirun, local, or the path of a program
  std::filesystem::path muster;  // the program on the nodes; muster-bench is next to it
  std::filesystem::path folder;  // the folder of the run, for host files
  Variables variables;
  int wake = -1;  // becomes readable when the run is asked to stop
  // Returns the number of GPUs of each node, from its inventory.
  std::function<std::vector<std::size_t>()> gpus;
};

// An error says why no node can be reached this way.
[[nodiscard]] Result<std::unique_ptr<Fleet>> make_remote_fleet(const Order& order,
                                                               RemoteSetup setup);

// A program and its arguments.
using CommandWords = std::vector<std::string>;

// Returns the command that runs `step` on a node.
[[nodiscard]] CommandWords node_command(const std::string& by, const std::string& node,
                                        const CommandWords& step);

// Returns the command that runs `bench` on several nodes, with `processes` processes on each.
[[nodiscard]] CommandWords group_command(const std::string& by,
                                         const std::vector<std::string>& nodes,
                                         std::size_t processes, const std::string& host_file,
                                         const CommandWords& bench);

// Why a step has no answer.
struct Unanswered {
  enum class Kind { interrupted, lost, refused, outside };  // outside: no longer in the job
  Kind kind = Kind::interrupted;
  std::string why;
};

// Classifies by the status and standard error of the program that should have reached the node.
[[nodiscard]] Unanswered unanswered(int status, std::string_view errors, std::string_view why);

}  // namespace muster::accept
