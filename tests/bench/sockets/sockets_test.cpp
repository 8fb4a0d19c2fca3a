// SPDX-License-Identifier: Apache-2.0
#include "bench/sockets/sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <cerrno>
#include <utility>

#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

constexpr int kPatienceMs = 10'000;

int option_of(const Descriptor& socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket.get(), level, name, &value, &size) == 0 ? value : -1;
}

// A listener on loopback.
struct Here {
  Endpoint where{.host = "127.0.0.1"};
  Descriptor listener = listen_on(where).value();

  Here() { where.port = port_of(listener).value(); }
};

void wait_until_writable(const Descriptor& socket) {
  pollfd one{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  EXPECT_EQ(::poll(&one, 1, kPatienceMs), 1);
}

Descriptor connected_to(const Endpoint& where) {
  auto socket = start_connecting(resolve(where).value().front()).value();
  wait_until_writable(socket);
  return socket;
}

TEST(EndpointTest, RoundTrips) {
  for (const auto& [text, endpoint] : {std::pair{"10.0.0.4:40123", Endpoint{"10.0.0.4", 40123}},
                                       {"[fd00::4]:1", Endpoint{"fd00::4", 1}},
                                       {"node1:65535", Endpoint{"node1", 65535}}}) {
    EXPECT_EQ(parse_endpoint(text).value(), endpoint);
    EXPECT_EQ(to_text(endpoint), text);
  }
}

TEST(EndpointTest, RejectsOtherTexts) {
  for (const auto* text : {"", ":", "node1", "node1:", ":6105", "node1:x", "node1:0", "node1:65536",
                           "node1:-1", "fd00::1", "fd00::1:6105", "[]:6105"}) {
    const auto endpoint = parse_endpoint(text);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_THAT(endpoint.error().message, HasSubstr("invalid HOST:PORT"));
  }
}

TEST(EndpointTest, RecognisesLoopback) {
  EXPECT_TRUE(is_loopback({.host = "127.0.0.1"}));
  EXPECT_TRUE(is_loopback({.host = "127.1.2.3"}));
  EXPECT_TRUE(is_loopback({.host = "::1"}));
  EXPECT_FALSE(is_loopback({.host = "10.0.0.4"}));
  EXPECT_FALSE(is_loopback({.host = "localhost"}));
}

TEST(SocketsTest, ConnectAndNameTheirPeer) {
  const Here here;
  const auto caller = connected_to(here.where);
  EXPECT_EQ(error_of(caller.get()), 0);
  Address from;
  const auto taken = accept_one(here.listener.get(), from);
  ASSERT_TRUE(taken.is_open());
  EXPECT_EQ(to_text(from), "127.0.0.1");
  for (const auto* end : {&caller, &taken}) {
    EXPECT_EQ(option_of(*end, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option_of(*end, SOL_SOCKET, SO_KEEPALIVE), 0);
  }
}

TEST(SocketsTest, DoNotWaitForAConnection) {
  const Here here;
  Address from;
  EXPECT_FALSE(accept_one(here.listener.get(), from).is_open());
  EXPECT_EQ(errno, EAGAIN);
}

TEST(SocketsTest, ReportAClosedPort) {
  Endpoint where;
  {
    const Here here;
    where = here.where;
  }
  const auto socket = start_connecting(resolve(where).value().front());
  if (!socket) {
    EXPECT_EQ(socket.error().message, "Connection refused");
    return;
  }
  wait_until_writable(*socket);
  EXPECT_EQ(error_of(socket->get()), ECONNREFUSED);
}

TEST(SocketsTest, ReportAPortInUse) {
  const Here here;
  const auto second = listen_on(here.where);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("listen on 127.0.0.1 port "));
  EXPECT_THAT(second.error().message, HasSubstr("Address already in use"));
}

TEST(SocketsTest, ListLoopbackLast) {
  const auto listener = listen_anywhere();
  ASSERT_TRUE(listener);
  ASSERT_FALSE(listener->addresses.empty());
  EXPECT_TRUE(is_loopback(listener->addresses.back()));
  for (const auto& each : listener->addresses) {
    EXPECT_EQ(each.port, port_of(listener->socket).value());
    EXPECT_THAT(resolve(each).value(), SizeIs(1)) << each.host;
  }
  EXPECT_EQ(error_of(connected_to(listener->addresses.back()).get()), 0);
}

TEST(SocketsTest, DetectALostNodeIfRequested) {
  const Here here;
  const auto caller = connected_to(here.where);
  notice_loss(caller.get());
  EXPECT_EQ(option_of(caller, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_GT(option_of(caller, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
}

}  // namespace
}  // namespace muster::bench
