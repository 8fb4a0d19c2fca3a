// SPDX-License-Identifier: Apache-2.0
// The claim for a rejected node of a delivery.
#pragma once

#include "lib/accept/delivery.hpp"
#include "lib/repair/claim.hpp"

namespace muster::accept {

// Makes the claim. The retests of the acceptance have proven the fault.
[[nodiscard]] repair::Claim claim_of(const NodeCard& card);

}  // namespace muster::accept
