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
  const XidEvent* event = nullptr;  // with that meaning, the newest
  std::uint64_t lines = 0;
  std::uint64_t last_us = 0;
  std::vector<const XidEvent*> events{};
};

struct XidIncident {
  std::string address;
  std::uint64_t first_us = 0;
  std::uint64_t last_us = 0;
  std::map<unsigned, XidPart> parts;
  unsigned cause = 0;  // the number that explains it

  [[nodiscard]] const XidPart& lead() const { return parts.at(cause); }
};

// Incidents of one GPU with the same cause and class.
struct XidGroup {
  std::string address;
  unsigned cause = 0;
  std::vector<XidIncident> incidents;  // never empty, the newest last

  [[nodiscard]] const XidIncident& newest() const { return incidents.back(); }
};

// Whether an event happened within seconds of one of the incidents.
[[nodiscard]] bool is_beside(const XidGroup& group, const XidEvent& event, Seconds coalesce);

// The XIDs that count: what is fatal since the GPU was last reset, what is not since `from_us`.
// `well`: addresses of GPUs whose driver calls for no recovery now. Where it did in the log, that
// recovery was done, and what is fatal up to that call is over.
[[nodiscard]] std::vector<XidGroup> group_xids(const XidLog& log, const XidRules& rules,
                                               bool of_nvswitches, Seconds coalesce, double from_us,
                                               const std::set<std::string>& well = {});

// What is said about them.
struct XidWords {
  std::string_view name;  // "XID"
  std::string device;     // what the finding is about
  std::string whose{};    // its other names: "0001:00:00.0, serial 1650923012345"
  std::string job{};      // that the newest one happened to; empty where it is not known
  double now_us = 0;
};

// "XID 79 (fallen off the bus) 12 min ago, with 45, 119; by python3 (pid 1234) of job 42; …".
// `kinds` turns its class into an outcome.
[[nodiscard]] Finding describe(const Snapshot& snapshot, const ByName<Outcome>& kinds,
                               const XidGroup& group, const XidWords& words);

}  // namespace muster::checks::xid
