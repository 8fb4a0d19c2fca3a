// SPDX-License-Identifier: Apache-2.0
// Faults in the kernel log. Lines of several classes, under several names of the same hardware, are
// one fault, named by the class closest to its cause.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/report/finding.hpp"

namespace muster::checks {

// The lines of one class. Those within seconds of each other are one incident.
struct ClassLines {
  std::uint64_t incidents = 0;
  std::uint64_t lines = 0;
  std::uint64_t last_us = 0;
  std::string newest;
  Remedy remedy = Remedy::none;

  void add(const KernelRecord& record, const KernelLogPattern& pattern, Seconds coalesce);
  void add(const ClassLines& other);
};

struct KernelFault {
  std::string_view family;  // of classes with a common cause; empty for a single class
  std::string device;
  std::string name{};  // of the device, or of the only part of it that the lines name
  std::uint64_t first_us = 0;
  std::uint64_t last_us = 0;
  std::string image{};                        // describes a disk image, which may belong to a user
  bool of_memory = false;                     // certain; a machine check alone may be about the CPU
  std::map<std::string, ClassLines> classes;  // that the profile does not ignore

  void add(const KernelFault& other);
};

// The class that caused the fault: the first of its family among those with the worst outcome.
[[nodiscard]] std::string cause_of(const KernelLogLimits& limits, const KernelFault& fault);

// The faults since `from_us`, sorted by cause and device.
[[nodiscard]] std::vector<KernelFault> faults_of(const Snapshot& snapshot,
                                                 const KernelLogLimits& limits, double from_us);

// Findings of other checks about the same fault, from counters and states of the hardware.
[[nodiscard]] std::vector<SeenBy> seen_by(const Snapshot& snapshot, const KernelFault& fault);

}  // namespace muster::checks
