// SPDX-License-Identifier: Apache-2.0
// The site's rules: the block `slurm` of muster.yaml, with its blocks `metrics`, `tell` and
// `sweep`.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"

namespace muster::slurm {

struct SweepKind {
  std::string_view name;  // of the command, in muster.yaml, in events and in the name of its jobs
  std::size_t fewest_nodes = 1;  // of one job
  // Takes as many nodes as are idle, up to the site's `most_nodes`, with a rank on each GPU; else
  // one process tests one node.
  bool takes_idle_nodes = false;
};

inline constexpr std::array kSweepKinds{
    SweepKind{.name = "locate", .fewest_nodes = 4, .takes_idle_nodes = true},
    SweepKind{.name = "node"},
};

[[nodiscard]] inline std::vector<std::string> default_sweep_kinds() {
  std::vector<std::string> names;
  for (const auto& kind : kSweepKinds) names.emplace_back(kind.name);
  return names;
}

// Null for an unknown name.
[[nodiscard]] constexpr const SweepKind* find_sweep_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kSweepKinds, name, &SweepKind::name);
  return found == kSweepKinds.end() ? nullptr : found;
}

struct TellRules {
  MUSTER_DESCRIBED(TellRules);
  MUSTER_FIELD(std::string, program, "the site's program, an absolute path; empty: none");
  MUSTER_FIELD(std::vector<std::string>, arguments,
               "its arguments before the event's kind and node");
  MUSTER_FIELD(Seconds, deadline, "a call ends within") = {5};
  MUSTER_FIELD(std::string, user, "it runs as this user, if muster is root") = "nobody";
  MUSTER_FIELD(std::vector<std::string>, events,
               "kinds of events that it is run for") = std::vector<std::string>{
      "drained", "refused", "resumed", "stopped"};
};

struct MetricsRules {
  MUSTER_DESCRIBED(MetricsRules);
  MUSTER_FIELD(std::string, file,
               "hooks write their metrics to this file, for node_exporter; empty: none");
  MUSTER_FIELD(std::string, values, "own, or all: also values that other exporters have") = "own";
};

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

struct Rules {
  MUSTER_DESCRIBED(Rules);
  MUSTER_FIELD(bool, drain, "drain nodes at all") = true;
  MUSTER_FIELD(bool, resume, "resume nodes at all") = true;
  MUSTER_FIELD(bool, gate_new_nodes, "keep new nodes drained until a clean boot check") = false;
  MUSTER_FIELD(std::string, gate_sweep,
               "and until a clean sweep of this level: none, quick, full or soak") = "none";
  // Each limit is a share of a partition's nodes that are up, and a number of nodes; the smaller
  // one holds. A number of 0 is no limit. At least one node is always allowed.
  MUSTER_FIELD(std::string, most_drained,
               "share of a partition's nodes that may be drained within drain_window") = "10%";
  MUSTER_FIELD(int, most_drained_nodes, "and how many nodes that is at most") = 20;
  MUSTER_FIELD(Seconds, drain_window, "time in which drains are counted") = {3600};
  // Drains of any age, without repairs.
  MUSTER_FIELD(std::string, most_standing,
               "share of a partition's nodes that may be drained by muster at a time") = "50%";
  MUSTER_FIELD(int, most_standing_nodes, "and how many nodes that is at most") = 100;
  MUSTER_FIELD(std::string, most_in_repair,
               "the same of nodes that wait for a part or the provider") = "75%";
  MUSTER_FIELD(int, most_in_repair_nodes, "and how many nodes that is at most; 0: any number") = 0;
  MUSTER_FIELD(std::string, most_by_check,
               "a check that drained this share within drain_window, and at least three nodes, "
               "drains no more") = "5%";
  MUSTER_FIELD(int, most_by_check_nodes, "or this many nodes") = 10;
  MUSTER_FIELD(int, clean_runs, "clean runs in a row before a node is resumed") = 3;
  MUSTER_FIELD(int, flaps, "this drain within flap_window stays until an admin resumes") = 3;
  MUSTER_FIELD(Seconds, flap_window, "time in which a node's drains are counted") = {24 * 3600};
  // By check, globs: whether a check that counts and could not judge lets muster "keep" or "drain"
  // the node. The longest matching glob decides.
  MUSTER_FIELD(ByName<std::string>, unknown,
               "by check, globs: keep or drain if it could not be judged");
  MUSTER_FIELD(std::string, on_trouble,
               "pass or fail: a hook's answer when muster itself is broken") = "pass";
  MUSTER_FIELD(Seconds, prolog_budget, "the whole prolog ends within") = {25};
  MUSTER_FIELD(Seconds, epilog_budget, "the whole epilog ends within") = {25};
  MUSTER_FIELD(Seconds, health_budget, "the whole health check ends within") = {45};
  MUSTER_FIELD(Seconds, spread, "health checks of all nodes begin spread over this time") = {2};
  // Above Slurm's MessageTimeout.
  MUSTER_FIELD(Seconds, controller_deadline, "for one call of scontrol or sinfo") = {12};
  MUSTER_FIELD(std::string, programs, "folders with scontrol and sinfo, separated by colons") =
      "/usr/bin:/usr/local/bin:/opt/slurm/bin:/usr/sbin";
  // Empty: the usual places.
  MUSTER_FIELD(std::string, conf, "slurm.conf, if SLURM_CONF is not set");
  MUSTER_FIELD(
      std::string, memory,
      "the field of a node in Slurm where muster stores what it knows about the drain: extra, "
      "comment or none") = "extra";
  // Empty: none.
  MUSTER_FIELD(std::string, nhc_conf,
               "hooks judge by this NHC configuration instead of the context's checks");
  // Tests of `muster-bench node`, as for its --only, that a hook runs on an idle and healthy node;
  // empty: none. `tests_budget` is added to the hook's own time.
  MUSTER_FIELD(std::string, epilog_tests,
               "tests of `muster-bench node` that an epilog runs, as --only");
  MUSTER_FIELD(std::string, boot_tests, "the same of the check after a boot");
  MUSTER_FIELD(Seconds, tests_budget,
               "these tests end within, in addition to the hook's own time") = {30};
  MUSTER_FIELD(MetricsRules, metrics, "the metrics that hooks write");
  MUSTER_FIELD(TellRules, tell, "the site's program that is run for events");
  MUSTER_FIELD(SweepRules, sweep, "what `muster sweep` does");
};

// The percentage in "10%"; nothing for any other text.
[[nodiscard]] std::optional<double> parse_share(std::string_view text);

// The time in whole seconds, as Slurm and the history count it.
[[nodiscard]] std::chrono::seconds whole(Seconds seconds);

// A key with an invalid value, as "sweep.every", and the rest of the sentence; an empty key for
// none.
struct BrokenValue {
  std::string key;
  std::string what;
  bool is_of_several = false;  // the value is only wrong together with that of another key
};

[[nodiscard]] BrokenValue check_values(const Rules& rules);

}  // namespace muster::slurm
