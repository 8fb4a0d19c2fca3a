// SPDX-License-Identifier: Apache-2.0
// What one XID or SXID means by the profile's rules, and by the rest of its line where the number
// alone does not tell.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/outcome.hpp"
#include "lib/node/xid.hpp"
#include "lib/profile/limits/xid.hpp"

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
  bool hardware = false;          // it is at fault where this recurs on one NVLink
  std::string link{};             // of an XID 74
  bool all_is_well = false;       // the driver says that nothing is left to do
  bool calls = false;             // the driver calls for a recovery
  const XidRule* rule = nullptr;  // none for a number that no rule names
  std::size_t order = 0;          // among what has the same class, the least explains the rest
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

  const XidLimits* limits_ = nullptr;  // none for SXIDs
  const std::vector<XidRule>* rules_ = nullptr;
  const std::map<std::string, std::string>* classes_ = nullptr;
  std::map<unsigned, std::size_t> places_;
};

}  // namespace muster::checks::xid
