// SPDX-License-Identifier: Apache-2.0
#include "bench/sockets/greeting.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "bench/sockets/sockets.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

constexpr auto kLong = std::chrono::seconds(30);

// Rank 0 of two, and connections to it.
class GreetingTest : public ::testing::Test {
 protected:
  void listen(Clock::duration limit = kLong) {
    auto listener = listen_on(where_).value();
    where_.port = port_of(listener).value();
    door_.emplace(std::move(listener), Identity{0, 2, secret_, "first"}, limit,
                  [this](std::string_view line) { lines_.emplace_back(line); });
  }

  [[nodiscard]] Descriptor connect() const {
    return connect_once(where_, after(kLong), kLong).value();
  }

  // Serves until a connection is admitted or `refusals` have been logged.
  std::vector<Arrival> serve(std::size_t refusals = 1) {
    std::vector<Arrival> arrivals;
    Poller poller;
    for (const auto until = after(kLong); Clock::now() < until;) {
      poller.clear();
      door_->watch(poller);
      poller.wait(std::min(until, door_->next_deadline()));
      arrivals = door_->serve(poller);
      if (!arrivals.empty() || lines_.size() >= refusals) break;
    }
    return arrivals;
  }

  // Why rank 0 refuses a rank that greets as `identity`.
  [[nodiscard]] std::string reason_for(const Identity& identity, int to = 0) {
    const auto socket = connect();
    EXPECT_TRUE(send_greeting(socket.get(), identity, to));
    EXPECT_THAT(serve(), IsEmpty());
    return receive_answer(socket.get(), identity, 0, after(kLong)).value();
  }

  void expect_refusal(std::string_view bytes, std::string_view why) {
    const auto socket = connect();
    EXPECT_GT(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    EXPECT_THAT(serve(), IsEmpty());
    EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("refused a connection from 127.0.0.1: "),
                                          HasSubstr(std::string(why)))));
  }

  std::string secret_;
  Endpoint where_{.host = "127.0.0.1"};
  std::optional<Doorkeeper> door_;
  std::vector<std::string> lines_;
};

TEST_F(GreetingTest, AdmitsARank) {
  for (const auto* secret : {"", "of this job"}) {
    secret_ = secret;
    where_.port = 0;
    listen();
    const Identity identity{1, 2, secret, "node\x1b[2J"};
    const auto socket = connect();
    ASSERT_TRUE(send_greeting(socket.get(), identity, 0));
    const auto arrivals = serve();
    ASSERT_EQ(arrivals.size(), 1U);
    EXPECT_EQ(arrivals.front().rank, 1);
    EXPECT_EQ(arrivals.front().name, "node\\x1b[2J") << "control characters are escaped";
    door_->admit(arrivals.front());
    EXPECT_EQ(receive_answer(socket.get(), identity, 0, after(kLong)).value(), "");
    EXPECT_THAT(lines_, IsEmpty());
  }
}

TEST_F(GreetingTest, EndsWithItsHmac) {
  for (const std::size_t size : {1U, 64U, 65U}) {
    const std::string secret(size, 's');
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    const Descriptor sender(ends[0]);
    const Descriptor receiver(ends[1]);
    ASSERT_TRUE(send_greeting(sender.get(), {1, 2, secret, "name"}, 0));
    std::array<unsigned char, 256> bytes{};
    const auto received = ::recv(receiver.get(), bytes.data(), bytes.size(), 0);
    ASSERT_GT(received, SHA256_DIGEST_LENGTH);
    const auto message = static_cast<std::size_t>(received) - SHA256_DIGEST_LENGTH;
    std::array<unsigned char, SHA256_DIGEST_LENGTH> expected{};
    ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(size), bytes.data(), message,
           expected.data(), nullptr);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), bytes.data() + message)) << size;
  }
}

TEST_F(GreetingTest, TellsARankWhyItIsRefused) {
  secret_ = "right";
  listen();
  EXPECT_EQ(reason_for({1, 3, "right", ""}), "it is one of 3 ranks, and this run has 2");
  EXPECT_EQ(reason_for({1, 2, "right", ""}, 1), "its greeting is malformed");
  EXPECT_EQ(reason_for({2, 2, "right", ""}), "its greeting is malformed");
  EXPECT_EQ(reason_for({1, 2, "", ""}), "it has no job secret, and this rank has one");
  EXPECT_THAT(reason_for({1, 2, "wrong", ""}), HasSubstr("it has another job secret"));
}

TEST_F(GreetingTest, DoesNotAcceptAnAnswerWithoutTheSecret) {
  secret_ = "wrong";
  listen();
  const auto socket = connect();
  ASSERT_TRUE(send_greeting(socket.get(), {1, 2, "wrong", ""}, 0));
  const auto arrivals = serve();
  ASSERT_EQ(arrivals.size(), 1U);
  door_->admit(arrivals.front());
  EXPECT_THAT(receive_answer(socket.get(), {1, 2, "right", ""}, 0, after(kLong)).value(),
              HasSubstr("another job secret"));
}

TEST_F(GreetingTest, RefusesOtherPrograms) {
  listen();
  expect_refusal("GET / HTTP/1.1\r\n\r\n", "it is not muster-bench");
}

TEST_F(GreetingTest, RefusesOtherVersions) {
  listen();
  expect_refusal("muster-bench/9" + std::string(400, '\0'), "another protocol version");
}

TEST_F(GreetingTest, LimitsTheTimeOfAGreeting) {
  listen(std::chrono::milliseconds(60));
  expect_refusal("muster-bench/", "it sent no greeting within 60 ms");
}

TEST_F(GreetingTest, LogsADistinctRefusalOnceAndCountsAll) {
  listen();
  EXPECT_EQ(door_->refusals(), "");
  for (int i = 0; i < 3; ++i) (void)connect();  // and closes it
  for (const auto until = after(kLong); Clock::now() < until;) {
    (void)serve();
    if (door_->refusals().find("; 3 connections were refused") == 0) break;
  }
  EXPECT_THAT(door_->refusals(), EndsWith("from 127.0.0.1: it left without a greeting"));
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(GreetingTest, DropsTheOldestConnectionIfThereAreTooMany) {
  listen();
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 80; ++i) strangers.push_back(connect());
  EXPECT_THAT(serve(), IsEmpty());
  EXPECT_THAT(lines_, ElementsAre(EndsWith("too many connect at once")));
  const auto socket = connect();
  ASSERT_TRUE(send_greeting(socket.get(), {1, 2, "", ""}, 0));
  EXPECT_EQ(serve(2).size(), 1U);
}

TEST(RandomSecretTest, IsHexadecimalAndDiffers) {
  const auto first = random_secret().value();
  EXPECT_THAT(first, ::testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_NE(first, random_secret().value());
}

}  // namespace
}  // namespace muster::bench
