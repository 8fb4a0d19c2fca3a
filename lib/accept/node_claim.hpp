// SPDX-License-Identifier: Apache-2.0
// The claim for a rejected node of a delivery.
#pragma once

#include "lib/accept/delivery.hpp"
#include "lib/repair/claim.hpp"

namespace muster::accept {

// Makes the claim of a rejected node. Retests may be too close together to prove its fault:
// repair::missing_proof() decides that, as for any other claim.
[[nodiscard]] repair::Claim claim_of(const NodeCard& card);

}  // namespace muster::accept
