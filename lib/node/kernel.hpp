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

  template <class Self = TimeSync>
  static constexpr auto fields() {
    return std::tuple{
        field("synchronised", &Self::synchronised, "the kernel's clock is disciplined (adjtimex)"),
        field("estimated_error_s", &Self::estimated_error_s, "estimated error in seconds")};
  }

  bool operator==(const TimeSync&) const = default;
};

// Whose limits are looked at where no process that starts jobs was found.
inline constexpr std::string_view kOwnLimits = "muster itself";

struct Limits {
  std::string process;              // whose: "slurmd (1234)", or kOwnLimits
  Fact<std::string> memlock_bytes;  // "unlimited" or a number
  Fact<std::string> open_files;

  template <class Self = Limits>
  static constexpr auto fields() {
    return std::tuple{
        field("process", &Self::process, "the process that starts jobs, whose limits these are"),
        field("memlock_bytes",
              &Self::memlock_bytes,
              "soft limit of locked memory: unlimited or bytes"),
        field("open_files", &Self::open_files, "soft limit of open files: unlimited or a number")};
  }

  bool operator==(const Limits&) const = default;
};

struct EdacController {
  std::string name;  // mc0
  Fact<std::uint64_t> corrected;
  Fact<std::uint64_t> uncorrected;

  template <class Self = EdacController>
  static constexpr auto fields() {
    return std::tuple{
        field("name", &Self::name, "memory controller, as mc0"),
        field("corrected", &Self::corrected, "ce_count since the driver was loaded"),
        field("uncorrected", &Self::uncorrected, "ue_count since the driver was loaded")};
  }

  bool operator==(const EdacController&) const = default;
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
  Fact<std::vector<EdacController>> edac;  // absent where no driver is loaded

  template <class Self = Kernel>
  static constexpr auto fields() {
    return std::tuple{
        field("release", &Self::release, "as uname -r"),
        field("command_line", &Self::command_line, "proc/cmdline"),
        field("sysctl", &Self::sysctl, "values of the keys that the profile names"),
        field("transparent_hugepage", &Self::transparent_hugepage, "always, madvise or never"),
        field("modules", &Self::modules, "modules loaded or built in, from sys/module"),
        field("limits", &Self::limits, "resource limits of the process that starts jobs"),
        field("clock", &Self::clock, "is the clock synchronised"),
        field("clocksource", &Self::clocksource, "current clocksource"),
        field("edac", &Self::edac, "memory error counters by controller")};
  }

  bool operator==(const Kernel&) const = default;
};

}  // namespace muster
