// SPDX-License-Identifier: Apache-2.0
// The claim for a rejected node of a delivery.
#pragma once

#include "lib/accept/delivery.hpp"
#include "lib/repair/claim.hpp"

namespace muster::accept {

// The fault was proven by the retests of the acceptance.
[[nodiscard]] repair::Claim claim_of(const NodeCard& card);

}  // namespace muster::accept
