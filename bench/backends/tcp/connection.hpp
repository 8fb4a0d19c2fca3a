// SPDX-License-Identifier: Apache-2.0
// A connection to another rank: making one, and moving bytes both ways at once without ever waiting
// for one of the two.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "bench/sockets/sockets.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::tcp {

using Deadline = std::chrono::steady_clock::time_point;

// Connects to the first of these addresses that answers, until the deadline.
[[nodiscard]] Result<Descriptor> connect_to(const std::vector<Endpoint>& addresses,
                                            Deadline deadline);

// One end of an exchange: a socket and what still has to go through it.
struct Outgoing {
  int socket = -1;
  std::span<const std::byte> bytes;
};

struct Incoming {
  int socket = -1;
  std::span<std::byte> bytes;
};

// Moves all bytes, in both directions at once. The deadline is that of the whole; without one it
// waits until the sockets are shut down.
[[nodiscard]] Result<void> transfer(Outgoing out, Incoming in, const Deadline* deadline = nullptr);

}  // namespace muster::bench::tcp
