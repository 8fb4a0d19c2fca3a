// SPDX-License-Identifier: Apache-2.0
// What a site lets muster do to its nodes: the block `slurm` of muster.yaml.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "slurm/rules/sweep_rules.hpp"
#include "slurm/rules/tell_rules.hpp"

namespace muster::slurm {

struct Rules {
  bool drain = true;  // false: report only
  bool resume = true;
  bool gate_new_nodes = false;      // a new node stays drained until it was accepted
  std::string gate_sweep = "none";  // level of the sweep that a new node must pass, too
  bool end_leftovers = false;       // an epilog ends what its job left on the GPUs
  // Shares of a partition: see count_nodes. At least one node each.
  std::string most_drained = "min(10%, 20 nodes)";  // within `drain_window`
  Seconds drain_window{3600};
  std::string most_standing = "min(50%, 100 nodes)";  // whatever their age, without repairs
  std::string most_in_repair = "75%";                 // for a new part, or for the provider
  std::string most_by_check = "max(3 nodes, min(5%, 10 nodes))";  // within `drain_window`
  int clean_runs = 3;  // in a row, before a node is resumed
  int flaps = 3;       // the drain of that number within `flap_window` stays
  Seconds flap_window{24.0 * 3600};
  // By check, globs: what an outcome `unknown` that counts does to a node: "keep" or "drain". The
  // longest glob that matches decides.
  std::map<std::string, std::string> unknown;
  std::string on_trouble = "pass";  // when muster itself cannot work: pass or fail the hook
  Seconds prolog_budget{25}, epilog_budget{25}, health_budget{45};
  Seconds spread{2};                // health checks begin within it, each node at its own time
  Seconds controller_deadline{12};  // for one question to slurmctld; above its MessageTimeout
  std::string programs = "/usr/bin:/usr/local/bin:/opt/slurm/bin:/usr/sbin";  // where scontrol is
  std::string conf;              // slurm.conf, where SLURM_CONF is not set; empty: the usual places
  std::string memory = "extra";  // the field of a node in Slurm in which muster remembers, or none
  std::string nhc_conf;  // hooks judge by the lines of this file; empty: by the context's checks
  bool nhc_conf_strict = false;  // Azure's checks in that file are judged to the letter
  // Tests of `muster-bench node`, as its --only has them, that a hook runs on an idle and healthy
  // node; empty: none. They end within `tests_budget`, which is beside the hook's own time.
  std::string epilog_tests, boot_tests;
  Seconds tests_budget{30};
  TellRules tell;
  SweepRules sweep;

  MUSTER_FIELDS(
      Rules,
      MUSTER_FIELD(drain, "drain nodes at all"),
      MUSTER_FIELD(resume, "resume nodes at all"),
      MUSTER_FIELD(gate_new_nodes, "keep new nodes drained until a clean boot check"),
      MUSTER_FIELD(gate_sweep, "and until a clean sweep of this level: none, quick, full or soak"),
      MUSTER_FIELD(end_leftovers, "an epilog ends the processes that its job left on the GPUs"),
      MUSTER_FIELD(most_drained,
                   "nodes of a partition that may be drained within drain_window, at least one"),
      MUSTER_FIELD(drain_window, "time in which drains are counted"),
      MUSTER_FIELD(most_standing, "nodes of a partition that may stand drained, since whenever"),
      MUSTER_FIELD(most_in_repair, "the same of those that wait for a part or the provider"),
      MUSTER_FIELD(most_by_check,
                   "a check that drained so many within drain_window drains no more"),
      MUSTER_FIELD(clean_runs, "clean runs in a row before a node is resumed"),
      MUSTER_FIELD(flaps, "this drain within flap_window stays until an admin resumes"),
      MUSTER_FIELD(flap_window, "time in which a node's drains are counted"),
      MUSTER_FIELD(unknown, "by check, globs: keep or drain where it could not be judged"),
      MUSTER_FIELD(on_trouble, "pass or fail: a hook's answer when muster itself is broken"),
      MUSTER_FIELD(prolog_budget, "the whole prolog ends within"),
      MUSTER_FIELD(epilog_budget, "the whole epilog ends within"),
      MUSTER_FIELD(health_budget, "the whole health check ends within"),
      MUSTER_FIELD(spread, "health checks of all nodes begin spread over this time"),
      MUSTER_FIELD(controller_deadline, "for one call of scontrol or sinfo"),
      MUSTER_FIELD(programs, "folders with scontrol and sinfo, separated by colons"),
      MUSTER_FIELD(conf, "slurm.conf, where SLURM_CONF is not set"),
      MUSTER_FIELD(memory,
                   "a node's field in Slurm for what muster must know: extra, comment or none"),
      MUSTER_FIELD(nhc_conf,
                   "hooks judge by this configuration of NHC in place of the context's checks"),
      MUSTER_FIELD(nhc_conf_strict, "judge Azure's checks in it to the letter"),
      MUSTER_FIELD(epilog_tests, "tests of `muster-bench node` that an epilog runs, as --only"),
      MUSTER_FIELD(boot_tests, "the same of the check after a boot"),
      MUSTER_FIELD(tests_budget, "these tests end within, beside the hook's own time"),
      MUSTER_FIELD(tell, "the site's program that is told what muster did"),
      MUSTER_FIELD(sweep, "what `muster sweep` does"));
};

// As Slurm and the history count time.
[[nodiscard]] std::chrono::seconds whole(Seconds seconds);

// What is wrong with the values: the key and the rest of a sentence; an empty key for nothing.
struct BrokenValue {
  std::string key;
  std::string what;
};

// A word of the file as an error shows it: "word", printable and of bounded length.
[[nodiscard]] std::string in_quotes(std::string_view word);

[[nodiscard]] BrokenValue check_values(const Rules& rules);
// Its keys are those within the block `tell`.
[[nodiscard]] BrokenValue check_tell(const TellRules& rules);
// Its keys are those within the block `sweep`.
[[nodiscard]] BrokenValue check_sweep(const SweepRules& rules);

}  // namespace muster::slurm
