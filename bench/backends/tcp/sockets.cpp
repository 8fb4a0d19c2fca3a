// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/tcp/sockets.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <thread>

namespace muster::bench::tcp {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kBetweenAttempts{50};
constexpr milliseconds kPatienceForOneAddress{2000};
constexpr std::int64_t kLongestPoll = 3'600'000;  // milliseconds, of what poll() can be told

tl::unexpected<Error> system_error(std::string_view call, int error) {
  return make_error(fmt::format("{}: {}", call, std::strerror(error)));
}

void set_option(int socket, int level, int name, int value) {
  // A benchmark without these is slower, and still right.
  (void)::setsockopt(socket, level, name, &value, sizeof value);
}

// Milliseconds for poll(); -1 without a deadline.
int until(const Deadline* deadline) {
  if (deadline == nullptr) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongestPoll));
}

Result<Descriptor> listen_with(int family, const sockaddr* address, socklen_t size) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return system_error("socket", errno);
  if (family == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.get(), address, size) != 0) return system_error("bind", errno);
  if (::listen(socket.get(), SOMAXCONN) != 0) return system_error("listen", errno);
  return socket;
}

// For IPv6 and IPv4 at once; for IPv4 only where the kernel has no IPv6.
Result<Descriptor> listen_everywhere() {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = IN6ADDR_ANY_INIT;
  auto both = listen_with(AF_INET6, reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (both) return both;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  return listen_with(AF_INET, reinterpret_cast<const sockaddr*>(&four), sizeof four);
}

Result<int> port_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return system_error("getsockname", errno);
  }
  // The port lies at the same place in both kinds of address.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// A numeric address; empty where others cannot use it: another family, or one of this link only.
std::string numeric(const sockaddr* address) {
  if (address == nullptr) return {};
  socklen_t size = 0;
  if (address->sa_family == AF_INET) size = sizeof(sockaddr_in);
  if (address->sa_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&six)) size = sizeof(sockaddr_in6);
  }
  std::array<char, NI_MAXHOST> host{};
  if (size == 0 ||
      ::getnameinfo(address, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return {};
  }
  return host.data();
}

// Bridges of containers and virtual machines have the same address on every node.
bool is_bridge(std::string_view interface) {
  return interface.starts_with("docker") || interface.starts_with("virbr") ||
         interface.starts_with("br-") || interface.starts_with("lxc");
}

std::vector<std::string> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<std::string> outer;
  std::vector<std::string> bridges;
  std::vector<std::string> loopback;
  for (const auto* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0) continue;
    const auto host = numeric(entry->ifa_addr);
    if (host.empty()) continue;
    const bool is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    (is_loopback ? loopback : is_bridge(entry->ifa_name) ? bridges : outer).push_back(host);
  }
  outer.insert(outer.end(), bridges.begin(), bridges.end());
  outer.insert(outer.end(), loopback.begin(), loopback.end());
  return outer;
}

Result<void> wait_for(int socket, short events, const Deadline* deadline) {
  pollfd one{.fd = socket, .events = events, .revents = 0};
  while (true) {
    const int ready = ::poll(&one, 1, until(deadline));
    if (ready > 0) return {};
    if (ready == 0) return make_error("no answer in time");
    if (errno != EINTR) return system_error("poll", errno);
  }
}

Result<Descriptor> connect_once(const std::string& address, Deadline deadline) {
  const auto space = address.find(' ');
  if (space == std::string::npos) return make_error(fmt::format("\"{}\" has no port", address));
  const auto host = address.substr(0, space);
  const auto port = address.substr(space + 1);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0) {
    return make_error(fmt::format("{}: {}", address, ::gai_strerror(code)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return system_error("socket", errno);
  if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
    return system_error(address, errno);
  }
  if (auto ready = wait_for(socket.get(), POLLOUT, &deadline); !ready) {
    return make_error(fmt::format("{}: {}", address, ready.error().message));
  }
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return system_error(address, error);
  set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  return socket;
}

// What moved; 0 where the socket takes or has nothing now.
Result<std::size_t> send_some(const Outgoing& out) {
  const auto sent = ::send(out.socket, out.bytes.data(), out.bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno == EAGAIN || errno == EINTR) return 0;
  return system_error("send", errno);
}

Result<std::size_t> receive_some(const Incoming& in) {
  const auto received = ::recv(in.socket, in.bytes.data(), in.bytes.size(), 0);
  if (received > 0) return static_cast<std::size_t>(received);
  if (received == 0) return make_error("the connection was closed");
  if (errno == EAGAIN || errno == EINTR) return 0;
  return system_error("receive", errno);
}

Result<void> wait_for_either(const Outgoing& out, const Incoming& in, const Deadline* deadline) {
  // poll() leaves out negative descriptors.
  std::array<pollfd, 2> both{
      pollfd{.fd = out.bytes.empty() ? -1 : out.socket, .events = POLLOUT, .revents = 0},
      pollfd{.fd = in.bytes.empty() ? -1 : in.socket, .events = POLLIN, .revents = 0}};
  const int ready = ::poll(both.data(), both.size(), until(deadline));
  if (ready == 0) return make_error("no answer in time");
  if (ready < 0 && errno != EINTR) return system_error("poll", errno);
  return {};
}

// What moved in both directions together; 0 where neither can go on now.
Result<std::size_t> move_some(Outgoing& out, Incoming& in) {
  auto sent = out.bytes.empty() ? Result<std::size_t>(0) : send_some(out);
  if (!sent) return sent;
  out.bytes = out.bytes.subspan(*sent);
  auto received = in.bytes.empty() ? Result<std::size_t>(0) : receive_some(in);
  if (!received) return received;
  in.bytes = in.bytes.subspan(*received);
  return *sent + *received;
}

}  // namespace

Result<Listening> listen_on_any_port() {
  auto socket = listen_everywhere();
  if (!socket) return tl::unexpected(socket.error());
  const auto port = port_of(*socket);
  if (!port) return tl::unexpected(port.error());
  Listening listening{.socket = *std::move(socket), .addresses = {}};
  for (const auto& host : interface_addresses()) {
    listening.addresses.push_back(fmt::format("{} {}", host, *port));
  }
  if (listening.addresses.empty()) return make_error("no network interface has an address");
  return listening;
}

Result<Descriptor> connect_to(const std::vector<std::string>& addresses, Deadline deadline) {
  Error last{.message = "no address"};
  do {
    for (const auto& address : addresses) {
      auto socket =
          connect_once(address, std::min(deadline, Clock::now() + kPatienceForOneAddress));
      if (socket) return socket;
      last = socket.error();
    }
    std::this_thread::sleep_for(kBetweenAttempts);
  } while (Clock::now() < deadline);
  return tl::unexpected(last);
}

Result<Descriptor> accept_from(const Descriptor& listener) {
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.is_open()) {
    set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    return socket;
  }
  // A stranger may be gone again before it is accepted.
  const bool harmless = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
  if (harmless) return Descriptor{};
  return system_error("accept", errno);
}

Result<void> transfer(Outgoing out, Incoming in, const Deadline* deadline) {
  while (!out.bytes.empty() || !in.bytes.empty()) {
    const auto moved = move_some(out, in);
    if (!moved) return tl::unexpected(moved.error());
    if (*moved != 0) continue;
    if (auto ready = wait_for_either(out, in, deadline); !ready) return ready;
  }
  return {};
}

}  // namespace muster::bench::tcp
