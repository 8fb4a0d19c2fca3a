// SPDX-License-Identifier: Apache-2.0
// What the NVIDIA driver writes to the kernel log about its GPUs and NVSwitches: XIDs, SXIDs, and
// what tells whose they are and that they are over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/node/kernel_log.hpp"

namespace muster {

struct XidEvent {
  bool nvswitch = false;    // an SXID
  bool of_program = false;  // written to /dev/kmsg, and not by the kernel
  std::string address;      // "0001:00:00.0"; of an SXID its function, too
  unsigned code = 0;
  std::uint64_t first_us = 0;  // since boot
  std::uint64_t last_us = 0;
  std::uint64_t lines = 0;
  std::string instance{};         // "GPU-I:02 GPU-CI:00" on a partitioned GPU, else empty
  std::optional<unsigned> pid{};  // of the process that was using the GPU, where the line names one
  std::string process{};
  std::string text{};  // what follows the number and the process

  bool operator==(const XidEvent&) const = default;
};

// How the log names a GPU that may be gone by now.
struct XidSubject {
  std::string uuid;
  std::string serial;

  bool operator==(const XidSubject&) const = default;
};

struct XidLog {
  std::vector<XidEvent> events;  // in the log's order
  std::vector<std::uint64_t>
      driver_loaded_us;                        // when loads began, ascending; each resets every GPU
  std::map<std::string, XidSubject> subjects;  // by address

  // When the driver was last loaded; 0 for never.
  [[nodiscard]] std::uint64_t loaded_us() const {
    return driver_loaded_us.empty() ? 0 : driver_loaded_us.back();
  }

  bool operator==(const XidLog&) const = default;
};

// Lines that the kernel itself wrote; those of programs too where `of_programs`.
[[nodiscard]] XidLog parse_xids(const KernelLog& log, bool of_programs = false);

// The driver's errors in one kernel log. A program may write whatever it likes to the log, also
// into the middle of what the kernel says, so that what the kernel wrote is read for itself.
struct Xids {
  XidLog of_kernel;
  std::optional<XidLog> with_programs;  // nothing where no program wrote such a line

  // What a profile believes.
  [[nodiscard]] const XidLog& believed(bool of_programs) const {
    return of_programs && with_programs ? *with_programs : of_kernel;
  }

  bool operator==(const Xids&) const = default;
};

[[nodiscard]] Xids find_xids(const KernelLog& log);

// The value that the driver changed a GPU's recovery action to; nothing where the text of an XID
// 154 does not say so.
[[nodiscard]] std::optional<unsigned> parse_recovery_action(std::string_view text);

}  // namespace muster
