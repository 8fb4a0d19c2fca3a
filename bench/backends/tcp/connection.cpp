// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/tcp/connection.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
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

// Milliseconds for poll(); -1 without a deadline.
int until(const Deadline* deadline) {
  if (deadline == nullptr) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongestPoll));
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

Result<Descriptor> connect_once(const Endpoint& endpoint, Deadline deadline) {
  const auto failed = [&](std::string_view why) {
    return make_error(fmt::format("{}: {}", to_text(endpoint), why));
  };
  TRY_ASSIGN(const auto addresses, resolve(endpoint));
  auto socket = start_connecting(addresses.front());
  if (!socket) return failed(socket.error().message);
  if (auto ready = wait_for(socket->get(), POLLOUT, &deadline); !ready) {
    return failed(ready.error().message);
  }
  if (const int error = error_of(socket->get()); error != 0) return failed(std::strerror(error));
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

Result<Descriptor> connect_to(const std::vector<Endpoint>& addresses, Deadline deadline) {
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

Result<void> transfer(Outgoing out, Incoming in, const Deadline* deadline) {
  while (!out.bytes.empty() || !in.bytes.empty()) {
    TRY_ASSIGN(const auto moved, move_some(out, in));
    if (moved != 0) continue;
    if (auto ready = wait_for_either(out, in, deadline); !ready) return ready;
  }
  return {};
}

}  // namespace muster::bench::tcp
