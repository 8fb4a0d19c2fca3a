// SPDX-License-Identifier: Apache-2.0
// XIDs of one GPU within seconds of each other are one incident, named by the XID that explains the
// others.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "checks/xid/meaning.hpp"
#include "lib/base/quantity.hpp"

namespace muster::checks::xid {

// All events of one number in one incident.
struct XidPart {
  XidMeaning meaning;               // the worst of them
  const XidEvent* event = nullptr;  // the newest with that meaning
  std::uint64_t lines = 0;
  std::uint64_t last_us = 0;
  std::vector<const XidEvent*> events{};
};

struct XidIncident {
  std::string address;
  std::uint64_t first_us = 0;
  std::uint64_t last_us = 0;
  std::map<unsigned, XidPart> parts;
  unsigned cause = 0;  // the number that explains the others

  [[nodiscard]] const XidPart& lead() const { return parts.at(cause); }
};

// Incidents of one GPU with the same cause and class.
struct XidGroup {
  std::string address;
  unsigned cause = 0;
  std::vector<XidIncident> incidents;  // never empty, the newest last

  [[nodiscard]] const XidIncident& newest() const { return incidents.back(); }
};

// True if the event happened within seconds of one of the incidents.
[[nodiscard]] bool is_near(const XidGroup& group, const XidEvent& event, Seconds coalesce);

// The XIDs that count: fatal ones since the GPU was last reset, others since `from_us`.
// `recovered`: addresses of GPUs whose driver asks for no recovery now. If it did in the log, the
// recovery was done, and fatal errors up to that request are resolved.
[[nodiscard]] std::vector<XidGroup> group_xids(const XidLog& log, const XidRules& rules,
                                               bool of_nvswitches, Seconds coalesce, double from_us,
                                               const std::set<std::string>& recovered = {});

// The texts for a finding about a group.
struct XidTexts {
  std::string_view name;  // "XID"
  std::string device;     // of the finding
  std::string whose{};    // other names of the device: "0001:00:00.0, serial 1650923012345"
  std::string job{};      // of the newest incident, if known
  double now_us = 0;
};

// "XID 79 (fallen off the bus) 12 min ago, with 45, 119; by python3 (pid 1234) of job 42; …".
// `kinds` turns its class into an outcome.
[[nodiscard]] Finding describe(const Snapshot& snapshot, const ByName<Outcome>& kinds,
                               const XidGroup& group, const XidTexts& words);

}  // namespace muster::checks::xid
