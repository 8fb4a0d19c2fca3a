// SPDX-License-Identifier: Apache-2.0
// What a site lets `muster sweep` do: the block `slurm: sweep:` of muster.yaml.
#pragma once

#include <map>
#include <string>
#include <tuple>
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
  Seconds time{15.0 * 60};              // limit of one job
  Seconds start_within{10.0 * 60};      // a job that did not start by then is taken away by Slurm
  int nice = 10'000;
  std::string account, qos;
  std::vector<std::string> options;                // more of sbatch
  std::vector<std::string> bench;                  // more of muster-bench
  std::map<std::string, std::string> environment;  // of the job
  std::string script;                              // empty: the one that came with the program
  std::string results;  // folder that nodes and this machine share; empty: there is no sweep

  template <class Self = SweepRules>
  static constexpr auto fields() {
    return std::tuple{
        field("every", &Self::every, "each node is swept at least once in this time"),
        field("kinds", &Self::kinds, "kinds of sweep that run"),
        field("partitions", &Self::partitions, "partitions that are swept"),
        field("partners", &Self::partners, "failures with so many partners confirm a suspect"),
        field(
            "most_jobs", &Self::most_jobs, "jobs of the sweep that are queued or running at once"),
        field("time", &Self::time, "time limit of one job"),
        field("start_within", &Self::start_within, "a job that has not started by then goes away"),
        field("nice", &Self::nice, "how much the priority of its jobs is lowered"),
        field("account", &Self::account, "account of its jobs"),
        field("qos", &Self::qos, "quality of service of its jobs"),
        field("options", &Self::options, "more options of sbatch"),
        field("bench", &Self::bench, "more options of muster-bench"),
        field("environment", &Self::environment, "variables of its jobs"),
        field("script", &Self::script, "the batch script"),
        field("results", &Self::results, "folder shared by nodes and this machine")};
  }

  bool operator==(const SweepRules&) const = default;
};

}  // namespace muster::slurm
