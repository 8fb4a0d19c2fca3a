// SPDX-License-Identifier: Apache-2.0
#include "bench/sockets/sockets.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "bench/sockets/poller.hpp"
#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

constexpr int kBacklog = 4096;  // the kernel limits it

void set_option(int socket, int level, int name, int value) {
  // Without an option a connection is slower, or a loss is detected later.
  [[maybe_unused]] const int ignored = ::setsockopt(socket, level, name, &value, sizeof value);
}

// Do not delay small messages.
void send_at_once(int socket) { set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1); }

Result<Descriptor> listen_at(const Address& address) {
  const int family = address.storage.ss_family;
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return make_error(std::strerror(errno));
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (family == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.get(), address.get(), address.length) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return make_error(std::strerror(errno));
  }
  return socket;
}

Result<std::vector<Address>> look_up(const Endpoint& where, int flags) {
  const addrinfo hints{
      .ai_flags = flags | AI_NUMERICSERV, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const auto port = fmt::to_string(where.port);
  const int error = ::getaddrinfo(where.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    return make_error("look up {}: {}", where.host, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::vector<Address> result;
  for (const auto* each = found; each != nullptr; each = each->ai_next) {
    Address address{.length = each->ai_addrlen};
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    result.push_back(address);
  }
  return result;
}

// Bridges of containers and virtual machines have the same addresses on every node.
bool is_bridge(std::string_view interface) {
  constexpr std::array<std::string_view, 6> kNames{"docker", "br-", "virbr", "veth", "cni", "lxc"};
  return std::ranges::any_of(kNames, [&](auto name) { return interface.starts_with(name); });
}

struct FoundAddress {
  int order = 0;  // the most reachable addresses come first
  std::string host;
};

// Empty if others cannot use the address.
std::optional<FoundAddress> describe(const ifaddrs& each) {
  constexpr unsigned kUp = IFF_UP | IFF_RUNNING;
  if (each.ifa_addr == nullptr || (each.ifa_flags & kUp) != kUp) return std::nullopt;
  const auto family = each.ifa_addr->sa_family;
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  Address address;
  address.length =
      static_cast<socklen_t>(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  std::memcpy(&address.storage, each.ifa_addr, address.length);
  auto host = to_text(address);
  if (host.starts_with("fe80")) return std::nullopt;  // valid on one link only
  if ((each.ifa_flags & IFF_LOOPBACK) != 0) return FoundAddress{3, host};
  if (is_bridge(each.ifa_name)) return FoundAddress{2, host};
  return FoundAddress{family == AF_INET ? 0 : 1, host};
}

tl::unexpected<Error> system_error(std::string_view call, int error) {
  return make_error("{}: {}", call, std::strerror(error));
}

// Waits until a socket of `poller` is ready.
Result<void> wait_for(Poller& poller, Clock::time_point deadline) {
  while (!poller.is_any_ready()) {
    if (Clock::now() >= deadline) return make_error("no answer in time");
    poller.wait(deadline);
  }
  return {};
}

Result<Descriptor> connect_address(const Address& address, Clock::time_point deadline) {
  TRY_ASSIGN(auto socket, start_connecting(address));
  Poller poller;
  poller.add_writing(socket.get());
  TRY(wait_for(poller, deadline));
  if (const int error = error_of(socket.get()); error != 0) {
    return make_error(std::strerror(error));
  }
  return socket;
}

// The number of bytes that moved; 0 if the socket is not ready.
Result<std::size_t> send_some(const Outgoing& out) {
  if (out.bytes.empty()) return 0;
  const auto sent = ::send(out.socket, out.bytes.data(), out.bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno == EAGAIN || errno == EINTR) return 0;
  return system_error("send", errno);
}

Result<std::size_t> receive_some(const Incoming& in) {
  if (in.bytes.empty()) return 0;
  const auto received = ::recv(in.socket, in.bytes.data(), in.bytes.size(), 0);
  if (received > 0) return static_cast<std::size_t>(received);
  if (received == 0) return make_error("the connection was closed");
  if (errno == EAGAIN || errno == EINTR) return 0;
  return system_error("receive", errno);
}

}  // namespace

std::string to_text(const Endpoint& endpoint) {
  const bool ipv6 = endpoint.host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
              : fmt::format("{}:{}", endpoint.host, endpoint.port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  const auto colon = std::min(text.rfind(':'), text.size());
  const auto port = parse_unsigned(text.substr(std::min(colon + 1, text.size())));
  auto host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  // Without brackets, the end of an IPv6 address is not a port.
  const bool ambiguous = !bracketed && host.find(':') != std::string_view::npos;
  if (port && *port > 0 && *port <= UINT16_MAX && !host.empty() && !ambiguous) {
    return Endpoint{.host = std::string(host), .port = static_cast<std::uint16_t>(*port)};
  }
  return make_error("invalid HOST:PORT \"{}\": expected one such as node1:6105 or [fd00::1]:6105",
                    printable(text, 100));
}

bool is_loopback(const Endpoint& endpoint) {
  return endpoint.host.starts_with("127.") || endpoint.host == "::1";
}

std::string to_text(const Address& address) {
  std::array<char, NI_MAXHOST> host{};
  const int error = ::getnameinfo(address.get(), address.length, host.data(),
                                  static_cast<socklen_t>(host.size()), nullptr, 0, NI_NUMERICHOST);
  if (error != 0) return "an unknown address";
  constexpr std::string_view kMapped = "::ffff:";  // IPv4 on a socket for both families
  const std::string_view text(host.data());
  return std::string(text.starts_with(kMapped) ? text.substr(kMapped.size()) : text);
}

Result<std::vector<Address>> resolve(const Endpoint& where) {
  // Numeric addresses need no name server.
  if (auto numeric = look_up(where, AI_NUMERICHOST)) return numeric;
  return look_up(where, 0);
}

Result<Descriptor> listen_on(const Endpoint& where) {
  const auto listen_on_host = [&](const std::string& host) -> Result<Descriptor> {
    TRY_ASSIGN(const auto addresses, resolve({.host = host, .port = where.port}));
    return listen_at(addresses.front());
  };
  if (!is_loopback(where)) {
    if (auto both = listen_on_host("::")) return both;
  }
  auto socket = listen_on_host(is_loopback(where) ? where.host : "0.0.0.0");
  if (socket) return socket;
  return make_error("listen on {} port {}: {}", where.host, where.port, socket.error().message);
}

Result<std::uint16_t> port_of(const Descriptor& listener) {
  Address address{.length = sizeof(sockaddr_storage)};
  if (::getsockname(listener.get(), address.get(), &address.length) != 0) {
    return make_error("getsockname: {}", std::strerror(errno));
  }
  // The port has the same offset in both families.
  sockaddr_in inside{};
  std::memcpy(&inside, &address.storage, sizeof inside);
  return ::ntohs(inside.sin_port);
}

Result<Listener> listen_anywhere() {
  TRY_ASSIGN(auto socket, listen_on({.host = "any address", .port = 0}));
  TRY_ASSIGN(const auto port, port_of(socket));

  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return make_error("list interfaces: {}", std::strerror(errno));
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<FoundAddress> found;
  for (const auto* each = list; each != nullptr; each = each->ifa_next) {
    if (auto described = describe(*each)) found.push_back(*std::move(described));
  }
  std::ranges::stable_sort(found, {}, &FoundAddress::order);
  Listener result{.socket = std::move(socket)};
  for (auto& each : found) result.addresses.push_back({.host = std::move(each.host), .port = port});
  if (result.addresses.empty()) return make_error("no network interface has an address");
  return result;
}

Result<Descriptor> start_connecting(const Address& address) {
  Descriptor socket(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return make_error(std::strerror(errno));
  send_at_once(socket.get());
  if (::connect(socket.get(), address.get(), address.length) != 0 && errno != EINPROGRESS) {
    return make_error(std::strerror(errno));
  }
  return socket;
}

int error_of(int descriptor) {
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

Result<Descriptor> connect_once(const Endpoint& endpoint, Clock::time_point deadline,
                                Clock::duration patience) {
  TRY_ASSIGN(const auto addresses, resolve(endpoint));
  Error last;
  for (const auto& address : addresses) {
    auto socket = connect_address(address, std::min(deadline, Clock::now() + patience));
    if (socket) return socket;
    last = socket.error();
  }
  return make_error("{} port {}: {}", endpoint.host, endpoint.port, last.message);
}

Result<Descriptor> connect_to(const std::vector<Endpoint>& endpoints, Clock::time_point deadline) {
  constexpr auto kPatience = std::chrono::seconds(2);
  Error last{.message = "no address"};
  do {
    for (const auto& endpoint : endpoints) {
      auto socket = connect_once(endpoint, deadline, kPatience);
      if (socket) return socket;
      last = socket.error();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (Clock::now() < deadline);
  return tl::unexpected(last);
}

Descriptor accept_one(int listener, Address& from) {
  from.length = sizeof from.storage;
  Descriptor socket(::accept4(listener, from.get(), &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.is_open()) send_at_once(socket.get());
  return socket;
}

void notice_loss(int socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 6);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
}

Result<void> transfer(Outgoing out, Incoming in, Clock::time_point deadline) {
  while (!out.bytes.empty() || !in.bytes.empty()) {
    TRY_ASSIGN(const auto sent, send_some(out));
    out.bytes = out.bytes.subspan(sent);
    TRY_ASSIGN(const auto received, receive_some(in));
    in.bytes = in.bytes.subspan(received);
    if (sent + received != 0) continue;
    Poller poller;
    if (!out.bytes.empty()) poller.add_writing(out.socket);
    if (!in.bytes.empty()) poller.add(in.socket);
    TRY(wait_for(poller, deadline));
  }
  return {};
}

Result<void> allow_descriptors(std::string_view who, std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return {};
  if (limit.rlim_max < wanted) {
    return make_error(
        "{} needs {} file descriptors, and may have {}: raise the hard limit "
        "(ulimit -Hn, or LimitNOFILE of the service that starts it)",
        who, wanted, limit.rlim_max);
  }
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return make_error("raise the limit to {} file descriptors: {}", wanted, std::strerror(errno));
}

}  // namespace muster::bench
