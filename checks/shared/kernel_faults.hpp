// SPDX-License-Identifier: Apache-2.0
// The faults that the kernel log tells of. One fault makes lines of several classes, under several
// names of the same hardware; they are one fault here, named by the class nearest to its cause.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/profile/limits/kernel_log.hpp"
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
  std::string_view family;  // of classes that one fault brings about; empty: the class stands alone
  std::string device;
  std::string name{};  // of the device, or of the one part of it that the lines are about
  std::uint64_t first_us = 0;
  std::uint64_t last_us = 0;
  std::string image{};     // where it is of a disk image, in words: it may be a user's; else empty
  bool of_memory = false;  // beyond doubt: a machine check may be the processor's, too
  std::map<std::string, ClassLines> classes;  // those that the profile does not let pass

  void add(const KernelFault& other);
};

// The cause of a fault: of the classes with the worst outcome the one that comes first in the
// family.
[[nodiscard]] std::string cause_of(const KernelLogLimits& limits, const KernelFault& fault);

// The faults since `from_us`, sorted by cause and device.
[[nodiscard]] std::vector<KernelFault> faults_of(const Snapshot& snapshot,
                                                 const KernelLogLimits& limits, double from_us);

// The findings of other checks that show the same fault in the hardware's own counters and states.
[[nodiscard]] std::vector<SeenBy> seen_by(const Snapshot& snapshot, const KernelFault& fault);

}  // namespace muster::checks
