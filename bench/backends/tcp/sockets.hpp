// SPDX-License-Identifier: Apache-2.0
// Sockets of the TCP back end: listening, reaching another rank, and moving bytes both ways at once
// without ever waiting for one of the two.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::tcp {

using Deadline = std::chrono::steady_clock::time_point;

struct Listening {
  Descriptor socket;
  // Where it can be reached: "10.0.0.4 40123", "fd00::4 40123"; loopback last.
  std::vector<std::string> addresses;
};

// On any free port of every interface.
[[nodiscard]] Result<Listening> listen_on_any_port();

// Connects to the first of these addresses that answers, until the deadline.
[[nodiscard]] Result<Descriptor> connect_to(const std::vector<std::string>& addresses,
                                            Deadline deadline);

// The next connection, or a descriptor that is not open where none waits.
[[nodiscard]] Result<Descriptor> accept_from(const Descriptor& listener);

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
