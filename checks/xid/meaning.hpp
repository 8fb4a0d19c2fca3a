// SPDX-License-Identifier: Apache-2.0
// The meaning of an XID or SXID by the profile's rules, and by the rest of its line if the number
// is ambiguous.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/outcome.hpp"
#include "lib/node/xid.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::xid {

inline constexpr std::string_view kFatal = "fatal";
inline constexpr std::string_view kDegraded = "degraded";
inline constexpr std::string_view kApplication = "application";
inline constexpr std::string_view kIgnored = "ignore";

struct XidMeaning {
  std::string kind;  // the class
  std::string meaning;
  Remedy remedy = Remedy::none;
  std::string context{};
  bool hardware = false;          // the cause, if this recurs on one NVLink
  std::string link{};             // of an XID 74
  bool recovered = false;         // the driver reports that no recovery is needed
  bool asks_recovery = false;     // the driver asks for a recovery
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
  void index(const std::vector<XidRule>& rules);
  void decode(const XidEvent& event, XidMeaning& meaning) const;

  const XidLimits* limits_ = nullptr;  // null for SXIDs
  const std::vector<XidRule>* rules_ = nullptr;
  const std::map<std::string, std::string>* classes_ = nullptr;
  std::map<unsigned, std::size_t> places_;
};

}  // namespace muster::checks::xid
