// SPDX-License-Identifier: Apache-2.0
// Connects to rank 0, again and again until it is there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/group/group.hpp"
#include "bench/group/message_socket.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

struct Welcome {
  MessageSocket socket;
  Clock::duration patience{};  // rank 0's, from now on
};

// Tries the addresses of rank 0, and shakes hands. Empty if nobody let this rank in before `until`:
// `last_failure` then says what the last address answered. An error if rank 0 refused this rank.
[[nodiscard]] Result<std::optional<Welcome>> connect_to_rank_0(const JoinOptions& options,
                                                               Clock::time_point until,
                                                               std::string& last_failure);

}  // namespace muster::bench
