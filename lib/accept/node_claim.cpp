// SPDX-License-Identifier: Apache-2.0
#include "lib/accept/node_claim.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace muster::accept {
repair::Claim claim_of(const NodeCard& card) {
  repair::Claim claim;
  claim.node = card.node;
  claim.physical_host = card.physical_host;
  claim.message = card.why;
  if (!card.causes.empty()) {
    const auto& cause = card.causes.front();
    claim.check = cause.check;
    claim.device = cause.device;
    claim.message = cause.message;
    claim.observed = repair::with_unit(cause.observed, cause.unit);
    claim.limit = repair::with_unit(cause.limit, cause.unit);
    claim.category = cause.category;
    claim.hard = repair::is_hard_evidence(cause.category, cause.remedy);
  }
  // A node without a cause stopped answering.
  const auto fault = fmt::format("{} {}", claim.check, claim.device);
  for (const auto& attempt : card.attempts) {
    const bool is_same = card.causes.empty() ? attempt.end == AttemptEnd::lost
                                             : attempt.end == AttemptEnd::fail &&
                                                   std::ranges::count(attempt.failed, fault) > 0;
    if (!is_same) continue;
    claim.seen.push_back({attempt.ended, attempt.boot_id, attempt.result});
  }
  claim.parts = card.parts;
  for (const auto& partner : card.partners) {
    if (partner.proven) claim.partners.push_back(partner.node);
  }
  claim.kernel_lines = card.kernel_lines;
  return claim;
}

}  // namespace muster::accept
