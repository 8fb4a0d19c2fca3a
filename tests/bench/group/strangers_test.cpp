// SPDX-License-Identifier: Apache-2.0
// Who connects to rank 0 and is no rank of this run: turned away, noted, and in nobody's way.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>

#include "bench/group/bytes.hpp"
#include "bench/group/group.hpp"
#include "bench/group/handshake.hpp"
#include "bench/group/message_socket.hpp"
#include "tests/bench/group/harness.hpp"

namespace muster::bench {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A plain blocking connection to rank 0.
class Stranger {
 public:
  explicit Stranger(const Listener& listener) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in address{.sin_family = AF_INET,
                              .sin_port = ::htons(listener.addresses.front().port),
                              .sin_addr = {.s_addr = ::htonl(INADDR_LOOPBACK)}};
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
  }

  // False once rank 0 has closed the connection.
  bool say(std::string_view bytes) const {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0;
  }

  // All that comes until rank 0 closes the connection.
  [[nodiscard]] std::string hear_out() const {
    std::string result;
    std::array<char, 1024> buffer{};
    for (;;) {
      const auto count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (count <= 0) return result;
      result.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }

  void close() { socket_ = Descriptor(); }

 private:
  Descriptor socket_;
};

Hello hello_of(int rank, int world) {
  return {.rank = rank, .world = world, .nonce = std::string(32, 'n'), .name = "stranger"};
}

std::string greeting(const Hello& hello) { return *pack(Kind::hello, to_bytes(hello)); }

// Rank 0 and rank 1 of two, with a stranger in between: `bother` runs while rank 0 waits. Both must
// join nonetheless.
std::vector<std::string> notes_of(const Setting& setting,
                                  const std::function<void(const Listener&)>& bother) {
  auto listener = listen_here();
  auto ranks = first_ranks(2);
  const auto work = [](Group& group) { EXPECT_TRUE(group.barrier()); };
  auto server = options_for(setting, listener, ranks[0]);
  std::thread first([&] { live(std::move(server), ranks[0], work); });
  bother(listener);
  live(options_for(setting, listener, ranks[1]), ranks[1], work);
  first.join();
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.troubles, 0);
  }
  return ranks[0].notes;
}

TEST(StrangerTest, WhoSpeaksAnotherLanguageIsTurnedAwayAtOnce) {
  const auto notes = notes_of({}, [](const Listener& listener) {
    const Stranger stranger(listener);
    EXPECT_TRUE(stranger.say("GET / HTTP/1.1\r\nHost: node1\r\n\r\n"));
    EXPECT_EQ(stranger.hear_out(), "");
  });
  EXPECT_THAT(notes, ElementsAre("refused a connection from 127.0.0.1: it is no muster-bench"));
}

TEST(StrangerTest, WhoLeavesWithoutAWordIsNoted) {
  const auto notes = notes_of({}, [](const Listener& listener) { Stranger(listener).close(); });
  EXPECT_THAT(notes,
              ElementsAre("refused a connection from 127.0.0.1: it left without saying who it is"));
}

TEST(StrangerTest, WhoSaysNothingIsInNobodysWay) {
  std::vector<Stranger> silent;
  const auto notes = notes_of({}, [&](const Listener& listener) {
    for (int count = 0; count < 20; ++count) silent.emplace_back(listener);
  });
  EXPECT_THAT(notes, IsEmpty());  // the ranks were in before the patience with them ended
}

TEST(StrangerTest, WhoSaysNothingIsTurnedAwayInTheEnd) {
  const auto notes =
      notes_of({.hello_limit = std::chrono::milliseconds(50)},
               [](const Listener& listener) { EXPECT_EQ(Stranger(listener).hear_out(), ""); });
  EXPECT_THAT(notes,
              Contains("refused a connection from 127.0.0.1: it did not say who it is within "
                       "50 ms"));
}

TEST(StrangerTest, ByteByByteGivesNobodyMoreTime) {
  const auto notes =
      notes_of({.hello_limit = std::chrono::milliseconds(60)}, [](const Listener& listener) {
        const Stranger stranger(listener);
        // The hello would be whole after 80 bytes.
        const auto bytes = greeting(hello_of(1, 2));
        for (const char byte : bytes) {
          if (!stranger.say(std::string_view(&byte, 1))) break;
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        EXPECT_EQ(stranger.hear_out(), "");
      });
  EXPECT_THAT(notes, Contains(HasSubstr("it did not say who it is within 60 ms")));
}

TEST(StrangerTest, AGreetingThatIsTooLongIsNotRead) {
  const auto notes = notes_of({}, [](const Listener& listener) {
    const Stranger stranger(listener);
    stranger.say(*pack(Kind::hello, std::string(kMaxGreeting + 1, 'x')));
    EXPECT_EQ(stranger.hear_out(), "");
  });
  EXPECT_THAT(notes, ElementsAre(HasSubstr("it is no muster-bench")));
}

struct Claim {
  std::string name;
  Hello hello;
  std::string_view why;
};

std::ostream& operator<<(std::ostream& out, const Claim& claim) { return out << claim.name; }

class ClaimTest : public ::testing::TestWithParam<Claim> {};

TEST_P(ClaimTest, IsAnsweredWithTheReason) {
  const auto notes = notes_of({}, [](const Listener& listener) {
    const Stranger stranger(listener);
    EXPECT_TRUE(stranger.say(greeting(GetParam().hello)));
    EXPECT_THAT(stranger.hear_out(), HasSubstr(std::string(GetParam().why)));
  });
  EXPECT_THAT(notes,
              ElementsAre(fmt::format("refused a connection from 127.0.0.1: {}", GetParam().why)));
}

INSTANTIATE_TEST_SUITE_P(
    Hellos, ClaimTest,
    ::testing::Values(
        Claim{"world", hello_of(1, 3), "it is one of 3 ranks, and this run has 2"},
        Claim{"rank", hello_of(2, 2), "its hello is malformed"},
        Claim{"secret",
              {.rank = 1, .world = 2, .has_secret = true, .nonce = std::string(32, 'n')},
              "it has a job secret, and rank 0 has none"}));

TEST(StrangerTest, ANameCannotHoldControlCharacters) {
  auto hello = hello_of(1, 2);
  hello.name = "a\x1b[2Jb\n";
  // As a program other than this one may send it.
  auto bytes = Writer()
                   .raw("mstrbnch")
                   .number(2, 2)
                   .number(1, 4)
                   .number(2, 4)
                   .number(0, 1)
                   .raw(hello.nonce)
                   .text(hello.name)
                   .take();
  EXPECT_EQ(read_hello(bytes).value().name, "a\\x1b[2Jb\\x0a");
  bytes[8] = 9;
  EXPECT_THAT(read_hello(bytes).error().message, HasSubstr("its protocol is version 9"));
}

TEST(StrangerTest, NobodyGetsInAsRankZero) {
  const auto notes = notes_of({}, [](const Listener& listener) {
    const Stranger stranger(listener);
    stranger.say(greeting(hello_of(0, 2)));
    stranger.say(*pack(Kind::proof));
    EXPECT_THAT(stranger.hear_out(), HasSubstr("rank 0 (test) is here already"));
  });
  EXPECT_THAT(notes, SizeIs(1));
}

TEST(StrangerTest, ARankThatComesTwiceIsTurnedAwayTheSecondTime) {
  auto listener = listen_here();
  const Setting setting{.world = 3};
  auto ranks = first_ranks(3);
  Rank twin{.rank = 1};
  const auto work = [](Group& group) { EXPECT_TRUE(group.barrier()); };
  std::atomic<int> ended = 0;
  const auto start = [&](Rank& rank) {
    return std::thread(
        [options = options_for(setting, listener, rank), &rank, &work, &ended]() mutable {
          live(std::move(options), rank, work);
          ++ended;
        });
  };
  std::vector<std::thread> threads;
  threads.push_back(start(ranks[0]));
  threads.push_back(start(ranks[1]));
  threads.push_back(start(twin));
  // One of the two is turned away, and only then can all be there.
  while (ended == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  threads.push_back(start(ranks[2]));
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(ranks[1].error.empty() != twin.error.empty());
  EXPECT_THAT(ranks[1].error + twin.error, HasSubstr("rank 1 (test) is here already"));
  EXPECT_EQ(ranks[0].error, "");
  EXPECT_EQ(ranks[2].error, "");
  EXPECT_EQ(ranks[1].troubles, 0);
  EXPECT_EQ(twin.troubles, 0);
  EXPECT_THAT(ranks[0].notes, ElementsAre(HasSubstr("rank 1 (test) is here already")));
}

TEST(SecretTest, WhoHasAnotherOneIsTurnedAwayAndSaysSo) {
  const Setting right{.secret = "right"};
  const Setting wrong{.secret = "wrong"};
  const auto notes = notes_of(right, [&](const Listener& listener) {
    Listener same{.addresses = listener.addresses};
    Rank intruder{.rank = 1};
    live(options_for(wrong, same, intruder), intruder, [](Group& /*group*/) { FAIL(); });
    EXPECT_THAT(intruder.error, HasSubstr("has another job secret"));
  });
  EXPECT_THAT(notes, ElementsAre(HasSubstr("its job secret is another one")));
}

TEST(SecretTest, WhoHasNoneIsTurnedAway) {
  const auto notes = notes_of({.secret = "right"}, [](const Listener& listener) {
    Listener same{.addresses = listener.addresses};
    Rank intruder{.rank = 1};
    live(options_for({}, same, intruder), intruder, [](Group& /*group*/) { FAIL(); });
    EXPECT_THAT(intruder.error, HasSubstr("it has no job secret, and rank 0 has one"));
  });
  EXPECT_THAT(notes, SizeIs(1));
}

TEST(SecretTest, AProofIsGoodForOneConnectionAndOneSideOnly) {
  const auto hello = hello_of(1, 2);
  const auto proof = prove(Side::member, "s", hello, "nonce");
  EXPECT_EQ(proof, prove(Side::member, "s", hello, "nonce"));
  EXPECT_THAT(proof, SizeIs(32));
  EXPECT_NE(proof, prove(Side::server, "s", hello, "nonce"));
  EXPECT_NE(proof, prove(Side::member, "t", hello, "nonce"));
  EXPECT_NE(proof, prove(Side::member, "s", hello, "other"));
  EXPECT_NE(proof, prove(Side::member, "s", hello_of(0, 2), "nonce"));
  EXPECT_EQ(prove(Side::member, "", hello, "nonce"), "");
}

TEST(StrangerTest, TheRefusedAreCountedWhereRanksStayAway) {
  auto listener = listen_here();
  Rank rank{.rank = 0};
  auto options =
      options_for({.world = 2, .patience = std::chrono::milliseconds(200)}, listener, rank);
  std::thread server([&] { live(std::move(options), rank, [](Group& /*group*/) { FAIL(); }); });
  for (int count = 0; count < 3; ++count) {
    const Stranger stranger(listener);
    stranger.say("garbage");
    EXPECT_EQ(stranger.hear_out(), "");
  }
  server.join();
  EXPECT_THAT(rank.error,
              AllOf(HasSubstr("rank 1 did not come"),
                    HasSubstr("3 connections were refused, the last from 127.0.0.1: it is no "
                              "muster-bench")));
  EXPECT_THAT(rank.notes, SizeIs(1));  // the same three times
}

TEST(StrangerTest, AnotherProgramAtTheAddressIsNotTakenForRankZero) {
  auto listener = listen_here();
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      const Descriptor client(::accept(listener.socket.get(), nullptr, nullptr));
      constexpr std::string_view kBanner = "SSH-2.0-OpenSSH_9.2\r\n";
      if (client.is_open()) ::send(client.get(), kBanner.data(), kBanner.size(), MSG_NOSIGNAL);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  Rank rank{.rank = 1};
  const Setting setting{.patience = std::chrono::milliseconds(300)};
  live(options_for(setting, listener, rank), rank, [](Group& /*group*/) { FAIL(); });
  done = true;
  other.join();
  EXPECT_EQ(rank.troubles, 1);
  EXPECT_THAT(rank.error, HasSubstr("rank 0 did not come to the rendezvous within 300 ms"));
  EXPECT_THAT(rank.error, HasSubstr("another program listens there"));
}

}  // namespace
}  // namespace muster::bench
