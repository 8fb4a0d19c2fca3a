// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/reason.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/report/harmless.hpp"

namespace muster::slurm {
namespace {

constexpr std::size_t kLongestSubject = 100;  // a check and a device, so that a message has room

}  // namespace

std::string make_reason(const Finding& finding) {
  const bool whole_node = finding.device.empty() || finding.device == "node";
  const auto subject = harmless(
      fmt::format("{}{}{}", finding.check, whole_node ? "" : " ", whole_node ? "" : finding.device),
      kLongestSubject);
  const auto remedy = describe(finding.remedy);
  const auto before = fmt::format("{}{}: ", kOurs, subject);
  const auto behind = fmt::format("{}{}", remedy.empty() ? "" : "; ", remedy);
  const auto room = kLongestReason - before.size() - behind.size();
  return fmt::format("{}{}{}", before, harmless(finding.message, room), behind);
}

std::string make_admins_reason(std::string_view user, std::string_view text) {
  return fmt::format("{}{}",
                     kAdmins,
                     harmless(fmt::format("{}: {}", user, text), kLongestReason - kAdmins.size()));
}

bool is_ours(std::string_view reason) { return reason.starts_with(kOurs); }

bool is_admins(std::string_view reason) { return reason.starts_with(kAdmins); }

}  // namespace muster::slurm
