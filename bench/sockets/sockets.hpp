// SPDX-License-Identifier: Apache-2.0
// TCP sockets that do not block: for the ranks' meeting and for the data of the TCP back end.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// A host name or numeric address, and a port.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  bool operator==(const Endpoint&) const = default;
};

// "node1:6105", "[fd00::1]:6105".
[[nodiscard]] std::string to_text(const Endpoint& endpoint);
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text);

[[nodiscard]] bool is_loopback(const Endpoint& endpoint);

// An address as the kernel takes it.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }

  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// "10.0.0.4".
[[nodiscard]] std::string to_text(const Address& address);

// All that a name stands for. May ask name servers, and take as long as they do.
[[nodiscard]] Result<std::vector<Address>> resolve(const Endpoint& where);

// Listens on the port of `where` (0: any): on loopback alone where that is what it says, else on
// every interface, as a name may be that of a service in front of this machine.
[[nodiscard]] Result<Descriptor> listen_on(const Endpoint& where);
[[nodiscard]] Result<std::uint16_t> port_of(const Descriptor& listener);

// A socket that listens on any free port of every interface, and how others may reach it.
struct Listener {
  Descriptor socket;
  std::vector<Endpoint> addresses;  // loopback last
};

[[nodiscard]] Result<Listener> listen_anywhere();

// A connection that is being made; it is there once it can be written to.
[[nodiscard]] Result<Descriptor> start_connecting(const Address& address);
// The errno that says why such a connection was not made; 0 if it was.
[[nodiscard]] int error_of(int descriptor);

// The next one that waits; nothing open, and errno, where there is none.
[[nodiscard]] Descriptor accept_one(int listener, Address& from);

// The other side's node being gone ends a connection after about 15 s, whether it was last heard or
// last spoken to. Not for data: a rank that computes for long reads nothing meanwhile.
void notice_loss(int socket);

// Lets this process have as many descriptors as it may, where fewer than `wanted` are allowed now.
// `who` needs them, for the message.
[[nodiscard]] Result<void> allow_descriptors(std::string_view who, std::size_t wanted);

}  // namespace muster::bench
