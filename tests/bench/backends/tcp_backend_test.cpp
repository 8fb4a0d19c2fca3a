// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "bench/backends/tcp/mesh.hpp"
#include "tests/bench/backends/battery.hpp"
#include "tests/bench/backends/tcp_ranks.hpp"

namespace muster::bench::tcp {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The results of all ranks, in any order.
std::vector<std::string> with_backends(
    int ranks, const std::function<std::vector<std::string>(Backend&, int)>& work) {
  std::mutex mutex;
  std::vector<std::string> all;
  run_ranks(ranks, [&](int rank, const Exchange& exchange) {
    auto backend =
        make_backend({.rank = rank, .ranks = ranks, .token = "of the job", .exchange = exchange});
    const auto said =
        backend ? work(**backend, rank) : std::vector<std::string>{backend.error().message};
    const std::lock_guard lock(mutex);
    all.insert(all.end(), said.begin(), said.end());
  });
  return all;
}

class TcpBackendTest : public ::testing::TestWithParam<int> {};

TEST_P(TcpBackendTest, RunsEveryOperation) {
  const int ranks = GetParam();
  EXPECT_THAT(with_backends(ranks,
                            [ranks](Backend& backend, int /*rank*/) {
                              return run_battery(backend, {0, 100, 3000}, {0, ranks - 1});
                            }),
              IsEmpty());
}

TEST_P(TcpBackendTest, RunsLongVectors) {
  const int ranks = GetParam();
  // Two sizes end inside a block.
  const auto work = [ranks](Backend& backend, int /*rank*/) {
    std::vector<std::string> problems;
    for (const std::uint64_t bytes : {70'000U, 1'500'000U}) {
      for (const auto& operation : all_operations(bytes, ranks / 2)) {
        const bool chosen = operation.type == Type::f32 && (operation.reduction == Reduction::sum ||
                                                            operation.reduction == Reduction::avg);
        if (!chosen) continue;
        const auto found = problems_of(backend, operation);
        problems.insert(problems.end(), found.begin(), found.end());
      }
    }
    return problems;
  };
  EXPECT_THAT(with_backends(ranks, work), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Ranks, TcpBackendTest, ::testing::Values(1, 2, 3, 4, 5));

TEST(TcpBackendTest, HasMembers) {
  with_backends(2, [](Backend& backend, int rank) {
    EXPECT_EQ(backend.ranks(), 2);
    EXPECT_EQ(backend.library(), "TCP of muster-bench");
    EXPECT_EQ(backend.members().front().rank, rank);
    EXPECT_EQ(backend.members().front().device, "host memory");
    EXPECT_EQ(backend.supports({}, {.graph = true}).error().message,
              "TCP on host memory has no CUDA graphs");
    EXPECT_TRUE(backend.supports({}, {}));
    return std::vector<std::string>{};
  });
}

TEST(TcpBackendTest, TimesEveryIteration) {
  const auto problems = with_backends(3, [](Backend& backend, int rank) {
    const Operation operation{.bytes = 4096};
    Progress progress;
    EXPECT_TRUE(backend.reserve(operation));
    const auto one_by_one = backend.measure(operation, {.warm_up = 1, .iterations = 6}, progress);
    EXPECT_EQ(progress.finished, 1 + 6);
    if (!one_by_one) return std::vector<std::string>{one_by_one.error().message};
    EXPECT_THAT(one_by_one->samples.front().seconds, SizeIs(6));
    EXPECT_THAT(one_by_one->samples.front().seconds, Each(::testing::Gt(0)));
    EXPECT_EQ(one_by_one->samples.front().rank, rank);
    EXPECT_TRUE(backend.memory_free());
    const auto in_a_row =
        backend.measure(operation, {.iterations = 4, .pipelined = true}, progress);
    if (!in_a_row) return std::vector<std::string>{in_a_row.error().message};
    EXPECT_EQ(progress.finished, 5 + 4);
    EXPECT_EQ(in_a_row->samples.front().seconds,
              std::vector<double>(4, in_a_row->samples.front().seconds.front()));
    return std::vector<std::string>{};
  });
  EXPECT_THAT(problems, IsEmpty());
}

TEST(TcpBackendTest, FindsWrongElements) {
  // Rank 2 sends integers, while the others expect floating-point numbers.
  with_backends(3, [](Backend& backend, int rank) {
    const Operation operation{.collective = Collective::all_gather,
                              .type = rank == 2 ? Type::i32 : Type::f32,
                              .bytes = 3072};
    EXPECT_TRUE(backend.reserve(operation));
    const auto wrongs = verify_once(backend, operation);
    EXPECT_EQ(wrongs->size(), 1);
    if (rank != 2) {
      EXPECT_EQ(wrongs->front().first, 512);
      EXPECT_EQ(wrongs->front().rank, rank);
    }
    return std::vector<std::string>{};
  });
}

TEST(TcpBackendTest, EndsWhenAborted) {
  const auto problems = with_backends(2, [](Backend& backend, int rank) {
    const Operation operation{.bytes = 1024};
    EXPECT_TRUE(backend.reserve(operation));
    if (rank == 1) {
      // Never takes part.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      backend.abort();
      return std::vector<std::string>{};
    }
    return std::vector<std::string>{verify_once(backend, operation).error().message};
  });
  EXPECT_THAT(problems,
              ::testing::ElementsAre("exchange data with rank 1: the connection was closed"));
}

TEST(TcpBackendTest, AbortsItselfFromAnotherThread) {
  std::barrier<> all_done(2);
  const auto problems = with_backends(2, [&](Backend& backend, int rank) {
    std::vector<std::string> said;
    if (rank == 0) {
      EXPECT_TRUE(backend.reserve({.bytes = 1024}));
      const std::jthread watcher([&backend] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        backend.abort();
      });
      said.push_back(verify_once(backend, {.bytes = 1024}).error().message);
    }
    all_done.arrive_and_wait();
    return said;
  });
  EXPECT_THAT(problems, ::testing::ElementsAre(HasSubstr("exchange data with rank 1: ")));
}

}  // namespace
}  // namespace muster::bench::tcp
