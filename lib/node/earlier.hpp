// SPDX-License-Identifier: Apache-2.0
// What earlier runs on this node saw, as far as rates and repeats need it. It is read from the
// state file and carried in the snapshot, so that a replay judges the same rates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

struct Earlier {
  std::string note;  // why earlier runs cannot be used, said once: another boot, corrupt
  std::string boot_id;
  double last_uptime_s = 0;  // of the newest earlier run; 0 when there is none in this boot
  double processes_seen_uptime_s = 0;  // of the newest one that could tell which tasks are stuck
  std::map<std::string, std::vector<CounterChange>> counters;  // ascending in time
  std::vector<StuckTask> stuck;

  template <class Self = Earlier>
  static constexpr auto fields() {
    return std::tuple{field("note", &Self::note, "why the state file could not be used"),
                      field("boot_id", &Self::boot_id, "the boot these belong to"),
                      field("last_uptime_s",
                            &Self::last_uptime_s,
                            "uptime of the last run; 0 for none in this boot"),
                      field("processes_seen_uptime_s",
                            &Self::processes_seen_uptime_s,
                            "uptime of the last run that saw the tasks in D state; 0 for none"),
                      field("counters", &Self::counters, "changes of error counters, by key"),
                      field("stuck", &Self::stuck, "tasks seen in D state")};
  }

  bool operator==(const Earlier&) const = default;
};

// The state file: `earlier` without its note. Reading refuses another schema.
[[nodiscard]] std::string state_to_json(const Earlier& earlier);
[[nodiscard]] Result<Earlier> parse_state(std::string_view json);

struct Delta {
  std::uint64_t increments = 0;
  double seconds = 0;  // the time the increments were seen in, at most the window

  [[nodiscard]] double per_hour() const {
    return static_cast<double>(increments) * 3600.0 / seconds;
  }
};

// What `key` gained in the `window_s` before `now_s`, not counting what came before uptime
// `from_s`. Empty at the first observation, and where the counter was cleared since (a smaller
// value starts afresh). What was seen in less than an hour counts as an hour's: a rate is never
// extrapolated.
[[nodiscard]] std::optional<Delta> delta_of(const Earlier& earlier,
                                            std::string_view key,
                                            CounterChange now,
                                            double window_s,
                                            double from_s = 0);

}  // namespace muster
