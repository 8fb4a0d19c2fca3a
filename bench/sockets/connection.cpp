// SPDX-License-Identifier: Apache-2.0
#include "bench/sockets/connection.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <thread>

namespace muster::bench {
namespace {

using std::chrono::milliseconds;

tl::unexpected<Error> system_error(std::string_view call, int error) {
  return make_error(fmt::format("{}: {}", call, std::strerror(error)));
}

// For poll(): -1 without a deadline.
int milliseconds_until(const Clock::time_point* deadline) {
  constexpr std::int64_t kMost = 3'600'000;
  if (deadline == nullptr) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kMost));
}

// poll() ignores sockets that are negative.
Result<void> wait_for(pollfd one, pollfd other, const Clock::time_point* deadline) {
  std::array<pollfd, 2> both{one, other};
  for (;;) {
    const int ready = ::poll(both.data(), both.size(), milliseconds_until(deadline));
    if (ready > 0) return {};
    if (ready == 0) return make_error("no answer in time");
    if (errno != EINTR) return system_error("poll", errno);
  }
}

Result<Descriptor> connect_address(const Address& address, Clock::time_point deadline) {
  TRY_ASSIGN(auto socket, start_connecting(address));
  TRY(wait_for({.fd = socket.get(), .events = POLLOUT, .revents = 0}, {.fd = -1}, &deadline));
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

Result<Descriptor> connect_once(const Endpoint& endpoint, Clock::time_point deadline,
                                Clock::duration patience) {
  TRY_ASSIGN(const auto addresses, resolve(endpoint));
  Error last;
  for (const auto& address : addresses) {
    auto socket = connect_address(address, std::min(deadline, Clock::now() + patience));
    if (socket) return socket;
    last = socket.error();
  }
  return make_error(fmt::format("{} port {}: {}", endpoint.host, endpoint.port, last.message));
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
    std::this_thread::sleep_for(milliseconds(50));
  } while (Clock::now() < deadline);
  return tl::unexpected(last);
}

Result<void> transfer(Outgoing out, Incoming in, const Clock::time_point* deadline) {
  while (!out.bytes.empty() || !in.bytes.empty()) {
    TRY_ASSIGN(const auto sent, send_some(out));
    out.bytes = out.bytes.subspan(sent);
    TRY_ASSIGN(const auto received, receive_some(in));
    in.bytes = in.bytes.subspan(received);
    if (sent + received != 0) continue;
    const int to = out.bytes.empty() ? -1 : out.socket;
    const int from = in.bytes.empty() ? -1 : in.socket;
    TRY(wait_for({.fd = to, .events = POLLOUT, .revents = 0},
                 {.fd = from, .events = POLLIN, .revents = 0}, deadline));
  }
  return {};
}

}  // namespace muster::bench
