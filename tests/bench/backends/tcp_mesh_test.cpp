// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>

#include "bench/backends/host_memory.hpp"
#include "bench/backends/tcp/mesh.hpp"
#include "bench/collectives/definition.hpp"
#include "lib/base/text.hpp"
#include "tests/bench/backends/tcp_ranks.hpp"

namespace muster::bench::tcp {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::uint64_t kElement = 4321;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(TcpMeshTest, MovesMoreThanSocketsHoldBothWaysAtOnce) {
  run_ranks(2, [](int rank, const Exchange& exchange) {
    const auto mesh = Mesh::connect({rank, 2, "token", exchange, 10s});
    ASSERT_TRUE(mesh);
    const std::vector<std::byte> out(std::size_t{8} << 20U, std::byte(rank + 1));
    std::vector<std::byte> in(out.size());
    ASSERT_TRUE(mesh->exchange(1 - rank, out, 1 - rank, in));
    EXPECT_EQ(in, std::vector<std::byte>(out.size(), std::byte(2 - rank)));
  });
}

TEST(TcpMeshTest, RefusesARankWithAnotherToken) {
  run_ranks(2, [](int rank, const Exchange& exchange) {
    const auto mesh = Mesh::connect({rank, 2, rank == 0 ? "right" : "wrong", exchange, 3s});
    ASSERT_FALSE(mesh);
    EXPECT_THAT(
        mesh.error().message,
        HasSubstr(rank == 0 ? "1 of 2 ranks did not connect in time; 1 connection was refused"
                            : "connect to rank 0: it refuses this rank: it has another"));
  });
}

// The last address of the first rank, which is loopback.
Endpoint first_rank_in(std::string_view lines) {
  return parse_endpoint(split(split(lines, '\n').front(), ',').back()).value();
}

// More strangers than may wait at once: some are silent, some send something else, some are gone.
std::vector<Descriptor> visit(const Endpoint& address) {
  const auto nonsense = bytes_of(
      "GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: of some length, longer than what a rank says when "
      "it comes\r\n\r\n");
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 100; ++i) {
    auto socket = connect_to({address}, std::chrono::steady_clock::now() + 5s);
    if (!socket) continue;
    if (i % 3 == 0) ::send(socket->get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
    if (i % 3 != 1) strangers.push_back(*std::move(socket));
  }
  return strangers;
}

TEST(TcpMeshTest, IsNotHeldUpByStrangers) {
  std::vector<Descriptor> strangers;
  run_ranks(2, [&](int rank, const Exchange& exchange) {
    auto visited = exchange;
    visited.broadcast = [&](std::string_view text) {
      auto lines = exchange.broadcast(text);
      if (rank == 1) strangers = visit(first_rank_in(*lines));
      return lines;
    };
    const auto mesh = Mesh::connect({rank, 2, "token", visited, 10s});
    ASSERT_TRUE(mesh) << mesh.error().message;
    std::vector<std::byte> in(5);
    const auto out = bytes_of(rank == 0 ? "hello" : "there");
    ASSERT_TRUE(mesh->exchange(1 - rank, out, 1 - rank, in));
    EXPECT_EQ(in[0], std::byte(rank == 0 ? 't' : 'h'));
  });
  EXPECT_GE(strangers.size(), 60);
}

TEST(TcpMeshTest, CountsTheRanksOfThisMachine) {
  run_ranks(3, [](int rank, const Exchange& exchange) {
    const auto mesh = Mesh::connect({rank, 3, "token", exchange, 10s});
    ASSERT_TRUE(mesh);
    EXPECT_EQ(mesh->ranks_here(), 3);
  });
}

[[noreturn]] void connect_with_few_files() {
  rlimit limit{};
  limit.rlim_cur = 100;
  limit.rlim_max = 100;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) std::_Exit(2);
  const auto mesh = Mesh::connect({0, 2000, "token", {}, 1s});
  fmt::print(stderr, "{}", mesh ? "connected" : mesh.error().message);
  std::_Exit(0);
}

TEST(TcpMeshTest, ReportsThatTooFewFilesMayBeOpen) {
  EXPECT_EXIT(connect_with_few_files(), ::testing::ExitedWithCode(0),
              "each of 2000 ranks needs 2192 file descriptors, and may have 100");
}

TEST(TcpMeshTest, ReportsWhichRankIsGone) {
  run_ranks(3, [](int rank, const Exchange& exchange) {
    auto mesh = Mesh::connect({rank, 3, "token", exchange, 10s});
    ASSERT_TRUE(mesh);
    if (rank == 2) return;  // and its connections with it
    std::vector<std::byte> in(1);
    EXPECT_EQ(mesh->receive(2, in).error().message,
              "exchange data with rank 2: the connection was closed");
  });
}

TEST(TcpMeshTest, RefusesAnIncompleteListOfAddresses) {
  const Exchange exchange{
      .gather = [](std::string_view /*mine*/) { return std::vector<std::string>{"a:1"}; },
      .broadcast = [](std::string_view text) { return std::string(text); }};
  EXPECT_EQ(Mesh::connect({0, 2, "token", exchange, 1s}).error().message,
            "addresses of 1 ranks, expected 2");
}

TEST(TcpCollectivesTest, LeaveOneWrongElementToBeFoundOnEveryRank) {
  run_ranks(3, [](int rank, const Exchange& exchange) {
    auto mesh = Mesh::connect({rank, 3, "token", exchange, 10s});
    ASSERT_TRUE(mesh);
    const Operation operation{.type = Type::i32, .bytes = 100'000};
    HostMemory memory(rank, 3);
    ASSERT_TRUE(memory.reserve(operation));
    const auto buffers = memory.lay_out(operation);
    ASSERT_TRUE(buffers);
    memory.poison_and_fill(operation, *buffers);
    if (rank == 1) buffers->send[kElement * 4 + 3] ^= std::byte{0x80};
    ASSERT_TRUE(tcp_collective(operation.collective)(*mesh, job_of(operation, *buffers)));
    const auto wrongs = memory.verify(operation, *buffers);
    ASSERT_EQ(wrongs.size(), 1);
    EXPECT_EQ(wrongs.front().rank, rank);
    EXPECT_EQ(wrongs.front().elements, 1);
    EXPECT_EQ(wrongs.front().first, kElement);
  });
}

}  // namespace
}  // namespace muster::bench::tcp
