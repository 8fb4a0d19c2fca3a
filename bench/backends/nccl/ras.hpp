// SPDX-License-Identifier: Apache-2.0
// NCCL's RAS service (2.24 and later): a thread in each process that knows which processes are gone
// and which ranks are behind, and that answers while an operation hangs.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/clock.hpp"

namespace muster::bench {

// Sets the address of this process' service to a free port, unless the user has set one: at the
// default port another job on this node may answer. Call this before NCCL starts.
void choose_ras_address();

// The errors and warnings of the service on one line; empty if it reports none or does not answer
// within the limit.
[[nodiscard]] std::string ask_ras(Clock::duration limit);

// The sentences below "Errors" and "Warnings" in the service's answer.
[[nodiscard]] std::string trouble_in_ras_answer(std::string_view answer);

}  // namespace muster::bench
