// SPDX-License-Identifier: Apache-2.0
// Facts about the running kernel: its settings, modules, clock and memory errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct TimeSync {
  MUSTER_DESCRIBED(TimeSync);
  MUSTER_FIELD(bool, synchronised, "the kernel's clock is disciplined (adjtimex)") = false;
  MUSTER_FIELD(double, estimated_error_s, "estimated error in seconds") = 0;
};

// The process in Limits if none that starts jobs was found.
inline constexpr std::string_view kOwnLimits = "muster itself";

struct Limits {
  MUSTER_DESCRIBED(Limits);
  MUSTER_FIELD(std::string, process, "the process that starts jobs: slurmd (1234)");
  MUSTER_FIELD(Fact<std::string>, memlock_bytes, "soft limit of locked memory: unlimited or bytes");
  MUSTER_FIELD(Fact<std::string>, open_files, "soft limit of open files: unlimited or a number");
};

struct EdacController {
  MUSTER_DESCRIBED(EdacController);
  MUSTER_FIELD(std::string, name, "memory controller, as mc0");
  MUSTER_FIELD(Fact<std::uint64_t>, corrected, "ce_count since the driver was loaded");
  MUSTER_FIELD(Fact<std::uint64_t>, uncorrected, "ue_count since the driver was loaded");
};

// A temperature sensor of the machine, such as a processor's.
struct ThermalZone {
  MUSTER_DESCRIBED(ThermalZone);
  MUSTER_FIELD(std::string, name, "the zone's type");
  MUSTER_FIELD(Fact<double>, now_c, "temperature");
  MUSTER_FIELD(Fact<double>, critical_c, "temperature at which the machine is switched off");
  MUSTER_FIELD(Fact<double>, hot_c, "temperature that the firmware considers hot");
};

struct Kernel {
  MUSTER_DESCRIBED(Kernel);
  MUSTER_FIELD(Fact<std::string>, release, "as uname -r");
  MUSTER_FIELD(Fact<std::string>, command_line, "proc/cmdline");
  MUSTER_FIELD(ByName<Fact<std::string>>, sysctl, "values of the keys in the profile");
  MUSTER_FIELD(Fact<std::string>, transparent_hugepage, "always, madvise or never");
  MUSTER_FIELD(Fact<std::vector<std::string>>, modules,
               "modules loaded or built in, from sys/module");
  MUSTER_FIELD(Limits, limits, "resource limits of the process that starts jobs");
  MUSTER_FIELD(Fact<TimeSync>, clock, "whether the clock is synchronised");
  MUSTER_FIELD(Fact<std::string>, clocksource, "current clocksource");
  MUSTER_FIELD(Fact<std::vector<EdacController>>, edac, "memory error counters by controller");
  MUSTER_FIELD(Fact<std::vector<ThermalZone>>, thermal_zones, "temperatures of the machine");
};

}  // namespace muster
