// SPDX-License-Identifier: Apache-2.0
// The block `slurm: sweep:` of muster.yaml: what a site lets `muster sweep` do.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "slurm/rules/sweep_kinds.hpp"

namespace muster::slurm {

struct SweepRules {
  MUSTER_DESCRIBED(SweepRules);
  // A node is due after half of it.
  MUSTER_FIELD(Seconds, every, "each node is swept at least once in this time") = {7.0 * 24 * 3600};
  MUSTER_FIELD(std::vector<std::string>, kinds, "kinds of sweep that run") = default_sweep_kinds();
  // Empty: the only one that Slurm has.
  MUSTER_FIELD(std::vector<std::string>, partitions, "partitions that are swept");
  MUSTER_FIELD(int, most_jobs, "jobs of the sweep that are queued or running at once") = 4;
  MUSTER_FIELD(int, most_nodes, "nodes of one job of the kind locate") = 32;
  MUSTER_FIELD(Seconds, time, "time limit of one job") = {15.0 * 60};
  MUSTER_FIELD(Seconds, start_within, "a job that has not started by then goes away") = {10.0 * 60};
  MUSTER_FIELD(int, nice, "how much the priority of its jobs is lowered") = 10'000;
  MUSTER_FIELD(std::string, account, "account of its jobs");
  MUSTER_FIELD(std::string, qos, "quality of service of its jobs");
  MUSTER_FIELD(std::vector<std::string>, options, "more options of sbatch");
  MUSTER_FIELD(std::vector<std::string>, bench, "more options of muster-bench locate");
  MUSTER_FIELD(ByName<std::string>, environment, "variables of its jobs");
  // Empty: the one in muster's data folder.
  MUSTER_FIELD(std::string, script, "the batch script");
  MUSTER_FIELD(bool, drain, "drain nodes that are confirmed") = false;
  MUSTER_FIELD(bool, as_root, "root may sweep, and its jobs run as root") = false;
  // Empty: there is no sweep.
  MUSTER_FIELD(std::string, results, "folder shared by nodes and this machine");
};

}  // namespace muster::slurm
