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

  template <class Self = CounterChange>
  static constexpr auto fields() {
    return std::tuple{field("uptime_s", &Self::uptime_s, "when it was first seen so"),
                      field("value", &Self::value, "the counter's value")};
  }

  bool operator==(const CounterChange&) const = default;
};

struct StuckTask {
  std::uint64_t pid = 0;
  std::uint64_t start_ticks = 0;
  double since_s = 0;     // uptime
  double awake_at_s = 0;  // uptime of the run before that one, which did not see it so
  Fact<std::uint64_t> switches;

  template <class Self = StuckTask>
  static constexpr auto fields() {
    return std::tuple{
        field("pid", &Self::pid, "process id"),
        field("start_ticks", &Self::start_ticks, "start time in ticks since boot"),
        field("since_s", &Self::since_s, "uptime at which it was first seen in D state"),
        field("awake_at_s",
              &Self::awake_at_s,
              "uptime of the run before, which did not see it so; 0 for none"),
        field("switches", &Self::switches, "its context switches then, of both kinds")};
  }

  bool operator==(const StuckTask&) const = default;
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

  template <class Self = RememberedXid>
  static constexpr auto fields() {
    return std::tuple{
        field("nvswitch", &Self::nvswitch, "an SXID"),
        field("of_program", &Self::of_program, "written to /dev/kmsg by a program"),
        field("address", &Self::address, "PCI address"),
        field("uuid", &Self::uuid, "of the GPU; empty where it is not known"),
        field("code", &Self::code, "the number"),
        field("job", &Self::job, "Slurm job that it happened to; empty for none known"),
        field("boot_id", &Self::boot_id, "the boot it happened in"),
        field("first_s", &Self::first_s, "uptime of the first, in that boot"),
        field("last_s", &Self::last_s, "uptime of the last"),
        field("wall_s", &Self::wall_s, "time of the last, seconds since 1970"),
        field("lines", &Self::lines, "lines in the kernel's log"),
        field("text", &Self::text, "what the last said")};
  }

  bool operator==(const RememberedXid&) const = default;
};

// When a job began here, as its prolog saw it.
struct SeenJob {
  std::string id;
  std::string boot_id;
  double since_s = 0;  // uptime
  double wall_s = 0;

  template <class Self = SeenJob>
  static constexpr auto fields() {
    return std::tuple{field("id", &Self::id, "Slurm job"),
                      field("boot_id", &Self::boot_id, "the boot it began in"),
                      field("since_s", &Self::since_s, "uptime of its prolog"),
                      field("wall_s", &Self::wall_s, "the same, seconds since 1970")};
  }

  bool operator==(const SeenJob&) const = default;
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

  template <class Self = Earlier>
  static constexpr auto fields() {
    return std::tuple{
        field("note", &Self::note, "why the state file could not be used"),
        field("boot_id", &Self::boot_id, "the boot these belong to"),
        field("last_uptime_s",
              &Self::last_uptime_s,
              "uptime of the last run; 0 for none in this boot"),
        field("processes_seen_uptime_s",
              &Self::processes_seen_uptime_s,
              "uptime of the last run that saw the tasks in D state; 0 for none"),
        field("counters", &Self::counters, "changes of error counters, by key"),
        field("stuck", &Self::stuck, "tasks seen in D state"),
        field("xids", &Self::xids, "XIDs and SXIDs, of other boots too"),
        field("jobs", &Self::jobs, "jobs whose prolog was seen"),
        field("driver_loaded_s",
              &Self::driver_loaded_s,
              "uptime at which the GPUs' driver was last loaded; 0 for none seen"),
        field("wall_s", &Self::wall_s, "when the state was read, seconds since 1970")};
  }

  bool operator==(const Earlier&) const = default;
};

// The state file: `earlier` without its note and the time of its reading. Reading refuses another
// schema.
[[nodiscard]] std::string state_to_json(const Earlier& earlier);
[[nodiscard]] Result<Earlier> parse_state(std::string_view text);

}  // namespace muster
