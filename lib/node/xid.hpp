// SPDX-License-Identifier: Apache-2.0
// Messages of the NVIDIA driver in the kernel log: XIDs of GPUs, SXIDs of NVSwitches, identities of
// GPUs, and loads of the driver.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/node/host.hpp"

namespace muster {

struct XidEvent {
  bool nvswitch = false;    // an SXID
  bool of_program = false;  // written to /dev/kmsg by a program
  std::string address;      // "0001:00:00.0"
  unsigned code = 0;
  std::uint64_t first_us = 0;  // since boot
  std::uint64_t last_us = 0;
  std::uint64_t lines = 0;
  std::string instance{};         // "GPU-I:02 GPU-CI:00" on a partitioned GPU, else empty
  std::optional<unsigned> pid{};  // of the process on the GPU, if the line names one
  std::string process{};
  std::string text{};  // after the number and the process

  bool operator==(const XidEvent&) const = default;
};

// The identity of a GPU in the log; it may have been lost since.
struct XidSubject {
  std::string uuid;
  std::string serial;

  bool operator==(const XidSubject&) const = default;
};

struct XidLog {
  std::vector<XidEvent> events;  // in the order of the log
  std::vector<std::uint64_t>
      driver_loaded_us;  // start of each load, ascending; a load resets all GPUs
  std::map<std::string, XidSubject> subjects;  // by address
  std::vector<std::string> unparsed;           // lines about XIDs in an unknown format

  // The start of the last load of the driver; 0 for none.
  [[nodiscard]] std::uint64_t loaded_us() const {
    return driver_loaded_us.empty() ? 0 : driver_loaded_us.back();
  }

  bool operator==(const XidLog&) const = default;
};

// Parses the lines of the kernel, with `of_programs` also those of programs.
[[nodiscard]] XidLog parse_xids(const KernelLog& log, bool of_programs = false);

// The driver's messages in one kernel log. A program can write anything to the log, even between
// two lines of the kernel, so the kernel's own lines are parsed separately.
struct Xids {
  XidLog of_kernel;
  std::optional<XidLog> with_programs;  // empty if no program wrote such lines

  // The messages to believe, as the profile sets it.
  [[nodiscard]] const XidLog& believed(bool of_programs) const {
    return of_programs && with_programs ? *with_programs : of_kernel;
  }

  bool operator==(const Xids&) const = default;
};

[[nodiscard]] Xids find_xids(const KernelLog& log);

// The new recovery action in the text of an XID 154, if there is one.
[[nodiscard]] std::optional<unsigned> parse_recovery_action(std::string_view text);

}  // namespace muster
