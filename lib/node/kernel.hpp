// SPDX-License-Identifier: Apache-2.0
// Facts about the running kernel: its settings, modules, clock and memory errors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct TimeSync {
  bool synchronised = false;
  double estimated_error_s = 0;

  MUSTER_FIELDS(TimeSync,
                MUSTER_FIELD(synchronised, "the kernel's clock is disciplined (adjtimex)"),
                MUSTER_FIELD(estimated_error_s, "estimated error in seconds"));
};

// Whose limits are looked at where no process that starts jobs was found.
inline constexpr std::string_view kOwnLimits = "muster itself";

struct Limits {
  std::string process;              // whose: "slurmd (1234)", or kOwnLimits
  Fact<std::string> memlock_bytes;  // "unlimited" or a number
  Fact<std::string> open_files;

  MUSTER_FIELDS(Limits,
                MUSTER_FIELD(process, "the process that starts jobs, whose limits these are"),
                MUSTER_FIELD(memlock_bytes, "soft limit of locked memory: unlimited or bytes"),
                MUSTER_FIELD(open_files, "soft limit of open files: unlimited or a number"));
};

struct EdacController {
  std::string name;  // mc0
  Fact<std::uint64_t> corrected;
  Fact<std::uint64_t> uncorrected;

  MUSTER_FIELDS(EdacController,
                MUSTER_FIELD(name, "memory controller, as mc0"),
                MUSTER_FIELD(corrected, "ce_count since the driver was loaded"),
                MUSTER_FIELD(uncorrected, "ue_count since the driver was loaded"));
};

// A place of the machine whose temperature the kernel knows, as of a processor.
struct ThermalZone {
  std::string name;
  Fact<double> now_c;
  Fact<double> critical_c;  // the machine is switched off from there
  Fact<double> hot_c;

  MUSTER_FIELDS(ThermalZone,
                MUSTER_FIELD(name, "the zone's type"),
                MUSTER_FIELD(now_c, "temperature"),
                MUSTER_FIELD(critical_c, "temperature at which the machine is switched off"),
                MUSTER_FIELD(hot_c, "temperature that the firmware calls hot"));
};

struct Kernel {
  Fact<std::string> release;
  Fact<std::string> command_line;
  std::map<std::string, Fact<std::string>> sysctl;  // those the profile names; dots as separators
  Fact<std::string> transparent_hugepage;           // the selected word: always, madvise, never
  Fact<std::vector<std::string>> modules;           // loaded or built in
  Limits limits;
  Fact<TimeSync> clock;
  Fact<std::string> clocksource;
  Fact<std::vector<EdacController>> edac;        // absent where no driver is loaded
  Fact<std::vector<ThermalZone>> thermal_zones;  // absent where there is none

  MUSTER_FIELDS(Kernel,
                MUSTER_FIELD(release, "as uname -r"),
                MUSTER_FIELD(command_line, "proc/cmdline"),
                MUSTER_FIELD(sysctl, "values of the keys that the profile names"),
                MUSTER_FIELD(transparent_hugepage, "always, madvise or never"),
                MUSTER_FIELD(modules, "modules loaded or built in, from sys/module"),
                MUSTER_FIELD(limits, "resource limits of the process that starts jobs"),
                MUSTER_FIELD(clock, "is the clock synchronised"),
                MUSTER_FIELD(clocksource, "current clocksource"),
                MUSTER_FIELD(edac, "memory error counters by controller"),
                MUSTER_FIELD(thermal_zones, "temperatures that the kernel knows"));
};

}  // namespace muster
