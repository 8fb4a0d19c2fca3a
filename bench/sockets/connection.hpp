// SPDX-License-Identifier: Apache-2.0
// Connects to another rank, and transfers bytes both ways at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/sockets/sockets.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Tries each address that the endpoint's name stands for once, for at most `patience` each.
[[nodiscard]] Result<Descriptor> connect_once(const Endpoint& endpoint, Clock::time_point deadline,
                                              Clock::duration patience);
// Tries the endpoints in turn until one accepts or the deadline has passed.
[[nodiscard]] Result<Descriptor> connect_to(const std::vector<Endpoint>& endpoints,
                                            Clock::time_point deadline);

struct Outgoing {
  int socket = -1;
  std::span<const std::byte> bytes;
};

struct Incoming {
  int socket = -1;
  std::span<std::byte> bytes;
};

// Moves all bytes in both directions at once, by the deadline; without one it waits until the
// sockets are shut down.
[[nodiscard]] Result<void> transfer(Outgoing out, Incoming in,
                                    const Clock::time_point* deadline = nullptr);

}  // namespace muster::bench
