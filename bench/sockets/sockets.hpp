// SPDX-License-Identifier: Apache-2.0
// Non-blocking TCP sockets, for the rendezvous of the ranks and for the TCP back end: addresses,
// listeners, connections, and transfers both ways at once.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
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

// A socket address.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }

  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// "10.0.0.4".
[[nodiscard]] std::string to_text(const Address& address);

// All addresses of a host name. May wait for a name server.
[[nodiscard]] Result<std::vector<Address>> resolve(const Endpoint& where);

// Listens on the port of `where` (0: any). It listens on loopback if `where` is a loopback address,
// else on every interface, since a name may be that of a service in front of this machine.
[[nodiscard]] Result<Descriptor> listen_on(const Endpoint& where);
[[nodiscard]] Result<std::uint16_t> port_of(const Descriptor& listener);

// A listener on a free port of every interface, and the addresses at which others may reach it.
struct Listener {
  Descriptor socket;
  std::vector<Endpoint> addresses;  // loopback last
};

[[nodiscard]] Result<Listener> listen_anywhere();

// A connection in progress; it is established once the socket is writable.
[[nodiscard]] Result<Descriptor> start_connecting(const Address& address);
// The errno of a connection that has failed, or 0.
[[nodiscard]] int error_of(int descriptor);

// Tries each address that the endpoint's name stands for once, for at most `patience` each.
[[nodiscard]] Result<Descriptor> connect_once(const Endpoint& endpoint, Clock::time_point deadline,
                                              Clock::duration patience);
// Tries the endpoints in turn until one accepts or the deadline has passed.
[[nodiscard]] Result<Descriptor> connect_to(const std::vector<Endpoint>& endpoints,
                                            Clock::time_point deadline);

// The next waiting connection. If there is none, the descriptor is closed and errno is set.
[[nodiscard]] Descriptor accept_one(int listener, Address& from);

// Ends the connection about 15 s after the other node goes down. Not for data: a rank may compute
// for long without reading.
void notice_loss(int socket);

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
                                    Clock::time_point deadline = Clock::time_point::max());

// Raises the limit on descriptors if fewer than `wanted` are allowed. `who` is for the message.
[[nodiscard]] Result<void> allow_descriptors(std::string_view who, std::size_t wanted);

}  // namespace muster::bench
