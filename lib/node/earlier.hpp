// SPDX-License-Identifier: Apache-2.0
// Observations of earlier runs on this node, which rates and repeats need. They are read from the
// state file and stored in the snapshot, so that a replay judges the same rates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster {

inline constexpr std::string_view kStateSchema = "muster.state/1";

// The value of a counter until the next change.
struct CounterChange {
  MUSTER_DESCRIBED(CounterChange);
  MUSTER_FIELD(double, uptime_s, "when this value was first seen") = 0;
  MUSTER_FIELD(std::uint64_t, value, "the counter's value") = 0;
};

struct StuckTask {
  MUSTER_DESCRIBED(StuckTask);
  MUSTER_FIELD(std::uint64_t, pid, "process id") = 0;
  MUSTER_FIELD(std::uint64_t, start_ticks, "start time in ticks since boot") = 0;
  MUSTER_FIELD(double, since_s, "uptime at which it was first seen in D state") = 0;
  MUSTER_FIELD(double, awake_at_s,
               "uptime of the run before, which did not see it in D state; 0 for none") = 0;
  MUSTER_FIELD(Fact<std::uint64_t>, switches, "its context switches at that time");
};

// XIDs with the same number of one GPU or NVSwitch, within minutes of each other. They outlive
// reboots and the kernel log, which storms overwrite, so that repeats across jobs are known.
struct RememberedXid {
  MUSTER_DESCRIBED(RememberedXid);
  MUSTER_FIELD(bool, nvswitch, "an SXID") = false;
  MUSTER_FIELD(bool, of_program, "written to /dev/kmsg by a program") = false;
  MUSTER_FIELD(std::string, address, "PCI address");
  MUSTER_FIELD(std::string, uuid, "of the GPU; empty if unknown");
  MUSTER_FIELD(unsigned, code, "the number") = 0;
  MUSTER_FIELD(std::string, job, "Slurm job it happened in; empty if unknown");
  MUSTER_FIELD(std::string, boot_id, "the boot it happened in");
  MUSTER_FIELD(double, first_s, "uptime of the first, in that boot") = 0;
  MUSTER_FIELD(double, last_s, "uptime of the last") = 0;
  MUSTER_FIELD(double, wall_s, "time of the last, seconds since 1970") = 0;
  MUSTER_FIELD(std::uint64_t, lines, "lines in the kernel log") = 0;
  MUSTER_FIELD(std::string, text, "text of the last one");
};

// The start of a job, as seen by its prolog.
struct SeenJob {
  MUSTER_DESCRIBED(SeenJob);
  MUSTER_FIELD(std::string, id, "Slurm job");
  MUSTER_FIELD(std::string, boot_id, "the boot it began in");
  MUSTER_FIELD(double, since_s, "uptime of its prolog") = 0;
  MUSTER_FIELD(double, wall_s, "the same, seconds since 1970") = 0;
};

struct Earlier {
  MUSTER_DESCRIBED(Earlier);
  MUSTER_FIELD(std::string, note, "why the state file could not be used, reported once");
  MUSTER_FIELD(std::string, boot_id, "the boot these belong to");
  MUSTER_FIELD(double, last_uptime_s, "uptime of the last run; 0 for none in this boot") = 0;
  MUSTER_FIELD(double, processes_seen_uptime_s,
               "uptime of the last run that saw the tasks in D state; 0 for none") = 0;
  // Ascending in time.
  MUSTER_FIELD(ByName<std::vector<CounterChange>>, counters, "changes of error counters, by key");
  MUSTER_FIELD(std::vector<StuckTask>, stuck, "tasks seen in D state");
  MUSTER_FIELD(std::vector<RememberedXid>, xids, "XIDs and SXIDs, of other boots too");
  MUSTER_FIELD(std::vector<SeenJob>, jobs, "jobs whose prolog was seen");
  MUSTER_FIELD(double, driver_loaded_s,
               "uptime at which the GPUs' driver was last loaded; 0 for none seen") = 0;
  MUSTER_FIELD(double, wall_s, "when the state was read, seconds since 1970") = 0;
};

// The state file: `earlier` without `note` and `wall_s`.
[[nodiscard]] std::string state_to_json(const Earlier& earlier);
[[nodiscard]] Result<Earlier> parse_state(std::string_view text);

}  // namespace muster
