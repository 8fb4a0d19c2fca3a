// SPDX-License-Identifier: Apache-2.0
// The meaning of an XID or SXID, from the profile's rules and, if the number is ambiguous, from the
// rest of its line. XIDs of one GPU within seconds of each other are one incident, named after the
// XID that explains the others.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "checks/shared/support.hpp"
#include "lib/base/quantity.hpp"
#include "lib/node/xid.hpp"

namespace muster::checks::xid {

inline constexpr std::string_view kFatal = "fatal";
inline constexpr std::string_view kDegraded = "degraded";
inline constexpr std::string_view kApplication = "application";
inline constexpr std::string_view kIgnored = "ignore";
// Fatal in the log, but NVML no longer requests the recovery that the log requested. Not a class of
// profiles.
inline constexpr std::string_view kWithdrawn = "withdrawn";

struct XidMeaning {
  std::string kind;  // the class
  std::string meaning;
  Remedy remedy = Remedy::none;
  std::string context{};
  bool hardware = false;          // the cause, if this recurs on one NVLink
  std::string link{};             // of an XID 74
  bool recovered = false;         // the driver reports that no recovery is needed
  bool asks_recovery = false;     // the driver requests a recovery
  const XidRule* rule = nullptr;  // null for a number without a rule
  std::size_t order = 0;          // in one class, the lowest explains the others
};

// The rules by number. The limits must outlive it.
class XidRules {
 public:
  explicit XidRules(const XidLimits& limits);
  explicit XidRules(const SxidLimits& limits);

  [[nodiscard]] XidMeaning meaning_of(const XidEvent& event) const;

 private:
  using Place = std::pair<unsigned, std::size_t>;  // a number, and where its rule is

  void index(const std::vector<XidRule>& rules);
  void decode(const XidEvent& event, XidMeaning& meaning) const;

  const XidLimits* limits_ = nullptr;  // null for SXIDs
  const std::vector<XidRule>* rules_ = nullptr;
  const std::map<std::string, std::string>* classes_ = nullptr;
  std::vector<Place> places_;  // sorted
};

struct NvlinkError {
  std::string kind;       // the class
  std::string unit{};     // of NVLink 5: "RLW_REMAP"
  std::string link{};     // number, up to Hopper; may be empty
  std::string context{};  // where to look, or the registers that are not 0 and their meaning
  bool hardware = false;  // the cause, if this recurs on the link
};

// Decodes XIDs 144 to 150 (NVLink 5) by the reporting unit and its status words.
[[nodiscard]] NvlinkError decode_nvlink(const XidLimits& limits, std::string_view text);

// Decodes XID 74 (up to Hopper) by the registers in the line. Fatal unless the line says otherwise.
[[nodiscard]] NvlinkError decode_registers(const XidLimits& limits, std::string_view text);

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
// `recovered`: addresses of GPUs whose driver requests no recovery now. If it did in the log, the
// recovery was done, and fatal errors up to that request are withdrawn.
[[nodiscard]] std::vector<XidGroup> group_xids(const XidLog& log, const XidRules& rules,
                                               bool of_nvswitches, Seconds coalesce, double from_us,
                                               const std::set<std::string>& recovered = {});

// The most drastic remedy of the XIDs in the group that are as bad as its cause.
[[nodiscard]] Remedy remedy_of(const Snapshot& snapshot, const XidGroup& group);

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
