// SPDX-License-Identifier: Apache-2.0
// The ranks of a TCP job as threads of one test: their connections, and the back end.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <barrier>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/backends/tcp/mesh.hpp"
#include "lib/base/text.hpp"
#include "tests/bench/backends/battery.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench::tcp {
namespace {

using namespace std::chrono_literals;
using ::testing::Gt;

// The exchange of addresses between threads.
class Blackboard {
 public:
  explicit Blackboard(int ranks) : texts_(static_cast<std::size_t>(ranks)), all_here_(ranks) {}

  [[nodiscard]] Exchange exchange(int rank) {
    return {.gather = [this, rank](std::string_view mine) -> Result<std::vector<std::string>> {
              texts_[static_cast<std::size_t>(rank)] = mine;
              all_here_.arrive_and_wait();
              if (rank != 0) return std::vector<std::string>{};
              return texts_;
            },
            .broadcast = [this, rank](std::string_view text) -> Result<std::string> {
              if (rank == 0) told_ = text;
              all_here_.arrive_and_wait();
              return told_;
            }};
  }

 private:
  std::vector<std::string> texts_;
  std::string told_;
  std::barrier<> all_here_;
};

// Calls `work(rank, exchange)` on a thread for each rank.
void run_ranks(int ranks, const std::function<void(int, const Exchange&)>& work) {
  Blackboard blackboard(ranks);
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { work(rank, blackboard.exchange(rank)); });
  }
}

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
    EXPECT_EQ(mesh->ranks_here(), 3);
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
    ASSERT_TRUE(run_operation(*mesh, operation, *buffers));
    const auto wrongs = memory.verify(operation, *buffers);
    ASSERT_EQ(wrongs.size(), 1);
    EXPECT_EQ(wrongs.front().rank, rank);
    EXPECT_EQ(wrongs.front().elements, 1);
    EXPECT_EQ(wrongs.front().first, kElement);
  });
}

// Reports of the ranks, in any order; empty ones are left out.
std::vector<std::string> with_backends(int ranks,
                                       const std::function<std::string(Backend&, int)>& work) {
  std::mutex mutex;
  std::vector<std::string> all;
  run_ranks(ranks, [&](int rank, const Exchange& exchange) {
    auto backend =
        make_backend({.rank = rank, .ranks = ranks, .token = "of the job", .exchange = exchange});
    auto said = backend ? work(**backend, rank) : backend.error().message;
    const std::lock_guard lock(mutex);
    if (!said.empty()) all.push_back(std::move(said));
  });
  return all;
}

class TcpBackendTest : public ::testing::TestWithParam<int> {};

TEST_P(TcpBackendTest, RunsEveryOperation) {
  const auto work = [](Backend& backend, int /*rank*/) {
    return fmt::format(
        "{}", fmt::join(run_battery(backend, {0, 100, 3000}, {0, backend.ranks() - 1}), "\n"));
  };
  EXPECT_THAT(with_backends(GetParam(), work), IsEmpty());
}

TEST_P(TcpBackendTest, RunsLongVectors) {
  // Two sizes end inside a block.
  const auto work = [](Backend& backend, int /*rank*/) {
    std::string problems;
    for (const std::uint64_t bytes : {70'000U, 1'500'000U}) {
      for (const auto& operation : all_operations(bytes, backend.ranks() / 2)) {
        const bool chosen = operation.type == Type::f32 && (operation.reduction == Reduction::sum ||
                                                            operation.reduction == Reduction::avg);
        if (!chosen) continue;
        problems += fmt::format("{}", fmt::join(problems_of(backend, operation), "\n"));
      }
    }
    return problems;
  };
  EXPECT_THAT(with_backends(GetParam(), work), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Ranks, TcpBackendTest, ::testing::Values(1, 2, 3, 4, 5));

TEST(TcpBackendTest, HasMembers) {
  with_backends(2, [](Backend& backend, int rank) {
    EXPECT_EQ(backend.ranks(), 2);
    EXPECT_EQ(backend.library(), "TCP of muster-bench");
    EXPECT_TRUE(backend.memory_free());
    EXPECT_EQ(backend.members().front().rank, rank);
    EXPECT_EQ(backend.members().front().device, "host memory");
    EXPECT_EQ(backend.supports({}, {.graph = true}).error().message,
              "TCP on host memory has no CUDA graphs");
    EXPECT_TRUE(backend.supports({}, {}));
    return std::string();
  });
}

TEST(TcpBackendTest, TimesEveryIteration) {
  const auto problems = with_backends(3, [](Backend& backend, int rank) -> std::string {
    for (const bool pipelined : {false, true}) {
      const auto batch = measure_once(backend, {.bytes = 4096},
                                      {.warm_up = 1, .iterations = 6, .pipelined = pipelined});
      if (!batch) return batch.error().message;
      const auto& samples = batch->samples.front();
      EXPECT_EQ(samples.rank, rank);
      EXPECT_THAT(samples.seconds, AllOf(SizeIs(6), Each(Gt(0))));
      if (pipelined) {
        EXPECT_THAT(samples.seconds, Each(samples.seconds.front()));
      }
    }
    return {};
  });
  EXPECT_THAT(problems, IsEmpty());
}

TEST(TcpBackendTest, EndsWhenAborted) {
  const auto problems = with_backends(2, [](Backend& backend, int rank) {
    if (rank == 0) return verify_once(backend, {.bytes = 1024}).error().message;
    std::this_thread::sleep_for(20ms);  // never takes part
    backend.abort();
    return std::string();
  });
  EXPECT_THAT(problems, ElementsAre("exchange data with rank 1: the connection was closed"));
}

TEST(TcpBackendTest, AbortsItselfFromAnotherThread) {
  std::barrier<> all_done(2);
  const auto problems = with_backends(2, [&](Backend& backend, int rank) {
    std::string said;
    if (rank == 0) {
      const std::jthread watcher([&backend] {
        std::this_thread::sleep_for(20ms);
        backend.abort();
      });
      said = verify_once(backend, {.bytes = 1024}).error().message;
    }
    all_done.arrive_and_wait();
    return said;
  });
  EXPECT_THAT(problems, ElementsAre(HasSubstr("exchange data with rank 1: ")));
}

}  // namespace
}  // namespace muster::bench::tcp
