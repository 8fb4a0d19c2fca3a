// SPDX-License-Identifier: Apache-2.0
// TCP sockets that do not block, and notice when the other side's node is gone.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <string>
#include <vector>

#include "bench/group/group.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }

  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// "10.0.0.4".
[[nodiscard]] std::string to_text(const Address& address);

// All that a name stands for. May ask name servers, and take as long as they do.
[[nodiscard]] Result<std::vector<Address>> resolve(const Rendezvous& where);

// Listens on the port of `where`: on loopback alone where that is what it says, else on every
// interface, as a name may be that of a service in front of this machine.
[[nodiscard]] Result<Descriptor> listen_on(const Rendezvous& where);

// A connection that is being made; it is there once it can be written to.
[[nodiscard]] Result<Descriptor> start_connecting(const Address& address);
// 0 or the errno of why not.
[[nodiscard]] int error_of(int descriptor);

// The next one that waits; nothing open, and errno, where there is none.
[[nodiscard]] Descriptor accept_one(int listener, Address& from);

// As many descriptors as this process may have, where fewer than `wanted` are allowed now.
[[nodiscard]] Result<void> allow_descriptors(std::size_t wanted);

}  // namespace muster::bench
