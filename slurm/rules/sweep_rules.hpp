// SPDX-License-Identifier: Apache-2.0
// What a site lets `muster sweep` do: the block `slurm: sweep:` of muster.yaml.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "slurm/rules/sweep_kinds.hpp"

namespace muster::slurm {

struct SweepRules {
  Seconds every{7.0 * 24 * 3600};  // each node at least once; due after half of it
  std::vector<std::string> kinds = default_sweep_kinds();
  std::vector<std::string> partitions;  // empty: the only one that Slurm has
  int partners = 3;                     // this many different ones confirm a suspect
  int most_jobs = 4;                    // of the sweep, queued or running
  int most_nodes = 32;                  // of one job that searches among many
  Seconds time{15.0 * 60};              // limit of one job
  Seconds start_within{10.0 * 60};      // a job that did not start by then is taken away by Slurm
  int nice = 10'000;
  std::string account, qos;
  std::vector<std::string> options;                // more of sbatch
  std::vector<std::string> bench;                  // more of muster-bench
  std::map<std::string, std::string> environment;  // of the job
  std::string script;                              // empty: the one that came with the program
  bool drain = false;                              // confirmed nodes, by the rules of all drains
  bool as_root = false;                            // a pass may run as root, and its jobs with it
  std::string results;  // folder that nodes and this machine share; empty: there is no sweep

  MUSTER_FIELDS(SweepRules,
                MUSTER_FIELD(every, "each node is swept at least once in this time"),
                MUSTER_FIELD(kinds, "kinds of sweep that run"),
                MUSTER_FIELD(partitions, "partitions that are swept"),
                MUSTER_FIELD(partners, "failures with so many partners confirm a suspect"),
                MUSTER_FIELD(most_jobs, "jobs of the sweep that are queued or running at once"),
                MUSTER_FIELD(most_nodes, "nodes of one job that searches among many"),
                MUSTER_FIELD(time, "time limit of one job"),
                MUSTER_FIELD(start_within, "a job that has not started by then goes away"),
                MUSTER_FIELD(nice, "how much the priority of its jobs is lowered"),
                MUSTER_FIELD(account, "account of its jobs"),
                MUSTER_FIELD(qos, "quality of service of its jobs"),
                MUSTER_FIELD(options, "more options of sbatch"),
                MUSTER_FIELD(bench, "more options of muster-bench"),
                MUSTER_FIELD(environment, "variables of its jobs"),
                MUSTER_FIELD(script, "the batch script"),
                MUSTER_FIELD(drain, "drain nodes that are confirmed"),
                MUSTER_FIELD(as_root, "root may sweep, and its jobs run as root"),
                MUSTER_FIELD(results, "folder shared by nodes and this machine"));
};

}  // namespace muster::slurm
