// SPDX-License-Identifier: Apache-2.0
// What earlier runs on this node saw, as far as rates and repeats need it. It is read from the
// state file and carried in the snapshot, so that a replay judges the same rates.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster {

inline constexpr std::string_view kStateSchema = "muster.state/1";

// The value of a counter from this time on, until the next change.
struct CounterChange {
  double uptime_s = 0;
  std::uint64_t value = 0;

  MUSTER_FIELDS(CounterChange,
                MUSTER_FIELD(uptime_s, "when it was first seen so"),
                MUSTER_FIELD(value, "the counter's value"));
};

struct StuckTask {
  std::uint64_t pid = 0;
  std::uint64_t start_ticks = 0;
  double since_s = 0;     // uptime
  double awake_at_s = 0;  // uptime of the run before that one, which did not see it so
  Fact<std::uint64_t> switches;

  MUSTER_FIELDS(StuckTask,
                MUSTER_FIELD(pid, "process id"),
                MUSTER_FIELD(start_ticks, "start time in ticks since boot"),
                MUSTER_FIELD(since_s, "uptime at which it was first seen in D state"),
                MUSTER_FIELD(awake_at_s,
                             "uptime of the run before, which did not see it so; 0 for none"),
                MUSTER_FIELD(switches, "its context switches then, of both kinds"));
};

// XIDs of one number that one GPU (or NVSwitch) had within minutes of each other. They outlive the
// kernel's log, which storms overwrite, and reboots, so that repeats across jobs are known.
struct RememberedXid {
  bool nvswitch = false;
  bool of_program = false;
  std::string address;
  std::string uuid;  // empty where nobody told
  unsigned code = 0;
  std::string job;  // empty where it is not known
  std::string boot_id;
  double first_s = 0;  // uptime in that boot
  double last_s = 0;
  double wall_s = 0;  // of the last
  std::uint64_t lines = 0;
  std::string text;

  MUSTER_FIELDS(RememberedXid,
                MUSTER_FIELD(nvswitch, "an SXID"),
                MUSTER_FIELD(of_program, "written to /dev/kmsg by a program"),
                MUSTER_FIELD(address, "PCI address"),
                MUSTER_FIELD(uuid, "of the GPU; empty where it is not known"),
                MUSTER_FIELD(code, "the number"),
                MUSTER_FIELD(job, "Slurm job that it happened to; empty for none known"),
                MUSTER_FIELD(boot_id, "the boot it happened in"),
                MUSTER_FIELD(first_s, "uptime of the first, in that boot"),
                MUSTER_FIELD(last_s, "uptime of the last"),
                MUSTER_FIELD(wall_s, "time of the last, seconds since 1970"),
                MUSTER_FIELD(lines, "lines in the kernel's log"),
                MUSTER_FIELD(text, "what the last said"));
};

// When a job began here, as its prolog saw it.
struct SeenJob {
  std::string id;
  std::string boot_id;
  double since_s = 0;  // uptime
  double wall_s = 0;

  MUSTER_FIELDS(SeenJob,
                MUSTER_FIELD(id, "Slurm job"),
                MUSTER_FIELD(boot_id, "the boot it began in"),
                MUSTER_FIELD(since_s, "uptime of its prolog"),
                MUSTER_FIELD(wall_s, "the same, seconds since 1970"));
};

struct Earlier {
  std::string note;  // why earlier runs cannot be used, said once: another boot, corrupt
  std::string boot_id;
  double last_uptime_s = 0;  // of the newest earlier run; 0 when there is none in this boot
  double processes_seen_uptime_s = 0;  // of the newest one that could tell which tasks are stuck
  std::map<std::string, std::vector<CounterChange>> counters;  // ascending in time
  std::vector<StuckTask> stuck;
  std::vector<RememberedXid> xids;  // of other boots, too
  std::vector<SeenJob> jobs;
  double driver_loaded_s = 0;  // uptime of the last time in this boot; 0 for none seen
  double wall_s = 0;           // when this was read

  MUSTER_FIELDS(Earlier,
                MUSTER_FIELD(note, "why the state file could not be used"),
                MUSTER_FIELD(boot_id, "the boot these belong to"),
                MUSTER_FIELD(last_uptime_s, "uptime of the last run; 0 for none in this boot"),
                MUSTER_FIELD(processes_seen_uptime_s,
                             "uptime of the last run that saw the tasks in D state; 0 for none"),
                MUSTER_FIELD(counters, "changes of error counters, by key"),
                MUSTER_FIELD(stuck, "tasks seen in D state"),
                MUSTER_FIELD(xids, "XIDs and SXIDs, of other boots too"),
                MUSTER_FIELD(jobs, "jobs whose prolog was seen"),
                MUSTER_FIELD(driver_loaded_s,
                             "uptime at which the GPUs' driver was last loaded; 0 for none seen"),
                MUSTER_FIELD(wall_s, "when the state was read, seconds since 1970"));
};

// What a run says of its own reading is no part of the state.
[[nodiscard]] constexpr bool is_kept_in_state(std::string_view field) {
  return field != "note" && field != "wall_s";
}

// The state file: `earlier` without its note and the time of its reading. Reading refuses another
// schema.
[[nodiscard]] std::string state_to_json(const Earlier& earlier);
[[nodiscard]] Result<Earlier> parse_state(std::string_view text);

}  // namespace muster
