// SPDX-License-Identifier: Apache-2.0
// What is said about incidents of XIDs and SXIDs.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "checks/shared/support.hpp"
#include "checks/xid/incidents.hpp"

namespace muster::checks::xid {

struct XidWords {
  std::string_view name;  // "XID"
  std::string device;     // what the finding is about
  std::string whose{};    // its other names: "0001:00:00.0, serial 1650923012345"
  std::string job{};      // that the newest one happened to; empty where it is not known
  double now_us = 0;
};

// "XID 79 (fallen off the bus) 12 min ago, with 45, 119; by python3 (pid 1234) of job 42; …".
// `kinds` turns its class into an outcome.
[[nodiscard]] Finding describe(const Snapshot& snapshot,
                               const std::map<std::string, std::string>& kinds,
                               const XidGroup& group,
                               const XidWords& words);

}  // namespace muster::checks::xid
