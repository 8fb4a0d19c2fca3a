// SPDX-License-Identifier: Apache-2.0
// The NCCL back end on the fake libraries: it is right, and finds wrong elements.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "tests/bench/backends/battery.hpp"
#include "tests/bench/backends/nccl/ranks.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

// The wrong elements, or the error.
std::string text_of(const Result<std::vector<Wrong>>& wrongs) {
  if (!wrongs) return wrongs.error().message;
  std::string text;
  for (const auto& wrong : *wrongs) {
    text += fmt::format("rank {}: {} wrong, first {}", wrong.rank, wrong.elements, wrong.first);
  }
  return text;
}

std::string verify_all(Backend& backend) {
  std::string lines;
  for (const auto& problem : run_battery(backend, {12000}, {0, backend.ranks() - 1})) {
    lines += fmt::format("{}\n", problem);
  }
  return lines;
}

std::string verify_all_reduce(Backend& backend, std::uint64_t bytes) {
  return text_of(verify_once(backend, {.bytes = bytes}));
}

class NcclCollectivesTest : public ::testing::TestWithParam<World> {};

TEST_P(NcclCollectivesTest, RunsEveryTypeAndCollective) {
  EXPECT_THAT(run_ranks(GetParam(), verify_all), Each(IsEmpty()));
}

// The fake checks that all registered memory is deregistered and freed.
INSTANTIATE_TEST_SUITE_P(
    Worlds, NcclCollectivesTest,
    ::testing::Values(World{.ranks = 4},
                      World{.ranks = 3, .forming_limit = std::chrono::seconds(60)},
                      World{.ranks = 3, .cuda = "cuda_old", .nccl = "nccl_old"}, World{.ranks = 1},
                      World{.ranks = 3, .registered = true}));

TEST(NcclCollectivesTest, GrowsRegisteredMemory) {
  const auto answers = run_ranks({.ranks = 2, .registered = true}, [](Backend& backend) {
    return verify_all_reduce(backend, 64) + verify_all_reduce(backend, 4096);
  });
  EXPECT_THAT(answers, Each(IsEmpty()));
}

TEST(NcclCollectivesTest, ReportsThatAnOldLibraryCannotRegister) {
  const auto answers =
      run_ranks({.ranks = 1, .cuda = "cuda_old", .nccl = "nccl_old", .registered = true},
                [](Backend& /*backend*/) { return std::string("made"); });
  EXPECT_THAT(answers, ElementsAre(HasSubstr("NCCL 2.8.4 has no registered memory: needs 2.19")));
}

// 11 collectives with 12 types each, 5 reductions (4 of the 8-bit floating-point types), 2 roots,
// and 2 placements except for alltoall, alltoallv and sendrecv. Rank 1 is once the root and once
// not.
TEST(NcclCollectivesTest, FindsAWrongElementOfEveryOperation) {
  const auto answers =
      run_ranks({.ranks = 2, .scenario = R"({"wrong": {"rank": 1, "index": 5}})"}, verify_all);
  EXPECT_THAT(answers[0], IsEmpty());
  const std::size_t without_root = 2 * 58 + 2 * 12 + 2 * 58 + 12 + 12 + 12 + 2 * 12;
  const std::size_t with_root = 4 * 12 + 2 * 58 + 2 * 12 + 4 * 12;  // only a root receives data
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(answers[1], '\n')),
            without_root + with_root);
}

// The operations after which not every element of the receive buffer is wrong, though nothing was
// stored.
std::string overlooked(Backend& backend) {
  std::string lines;
  const int rank = backend.members().front().rank;
  for (const auto& operation : all_operations(12000, 0)) {
    if (operation.in_place || !backend.supports(operation, {})) continue;
    if (!can_run(operation, backend.ranks())) continue;
    const auto elements = shape_of(operation, rank, backend.ranks()).receive;
    const auto wrongs = verify_once(backend, operation);
    if (!wrongs) return wrongs.error().message;
    const auto found = wrongs->empty() ? 0 : wrongs->front().elements;
    if (rank == 1 && found != elements) lines += fmt::format("{}: {}\n", show(operation), found);
  }
  return lines;
}

TEST(NcclCollectivesTest, FindsEveryElementThatIsNotStored) {
  EXPECT_THAT(run_ranks({.ranks = 2, .scenario = R"({"lost": {"rank": 1}})"}, overlooked),
              ElementsAre("", ""));
}

// The last operation of a measurement stores nothing.
TEST(NcclCollectivesTest, FindsThatTheLastOperationStoredNothing) {
  const auto lost = [](int number, const Pace& pace) {
    return run_ranks(
        {.ranks = 2,
         .scenario = fmt::format(R"({{"lost": {{"rank": 1, "operation": {}}}}})", number)},
        [&](Backend& backend) {
          const auto batch = measure_once(
              backend, {.type = Type::u8, .reduction = Reduction::max, .bytes = 4096}, pace);
          return text_of(batch.map([](const Batch& measured) { return measured.wrong; }));
        });
  };
  const Pace graph{.warm_up = 1, .iterations = 2, .graph = true};
  const auto found = ElementsAre("", "rank 1: 4096 wrong, first 0");
  EXPECT_THAT(lost(3, {.warm_up = 1, .iterations = 2}), found);
  // One more synchronises the ranks.
  EXPECT_THAT(lost(4, {.warm_up = 1, .iterations = 2, .pipelined = true}), found);
  EXPECT_THAT(lost(4, graph), found);  // the first launch uploads it
  EXPECT_THAT(lost(1 + 2 * 3, {.warm_up = 1, .iterations = 2, .together = 3}), found);
  EXPECT_THAT(lost(99, graph), ElementsAre("", ""));
}

std::string verify_in_graph(Backend& backend) {
  return text_of(verify_once(backend, {.in_place = true, .bytes = 4096}, {.graph = true}));
}

// The first operation is not part of the graph.
TEST(NcclCollectivesTest, VerifiesAGraph) {
  EXPECT_THAT(run_ranks({.ranks = 3}, verify_in_graph), Each(IsEmpty()));
  const auto with_wrong = [](int operation) {
    return run_ranks({.ranks = 2,
                      .scenario = fmt::format(
                          R"({{"wrong": {{"rank": 1, "operation": {}, "index": 9}}}})", operation)},
                     verify_in_graph);
  };
  EXPECT_THAT(with_wrong(0), ElementsAre("", ""));
  EXPECT_THAT(with_wrong(1), ElementsAre("", "rank 1: 1 wrong, first 9"));
  EXPECT_THAT(run_ranks({.ranks = 1, .cuda = "cuda_old"}, verify_in_graph),
              Each("the CUDA driver is older than CUDA 11.4 and has no graphs"));
}

TEST(NcclCollectivesTest, FindsOneWrongElementAtTheEnd) {
  const auto answers = run_ranks(
      {.ranks = 2, .scenario = R"({"wrong": {"rank": 1, "operation": 0, "index": 1610612736}})"},
      [](Backend& backend) { return verify_all_reduce(backend, 8UL << 30); });
  EXPECT_THAT(answers, ElementsAre("", "rank 1: 1 wrong, first 1610612736"));
}

TEST(NcclCollectivesTest, NamesTheGpuOfAnAsynchronousError) {
  const auto answers = run_ranks(
      {.ranks = 2,
       .scenario =
           R"({"async_error": {"rank": 1, "operation": 0, "code": 6, "text": "peer closed"}})",
       .patience = std::chrono::milliseconds(500)},
      [](Backend& backend) { return verify_all_reduce(backend, 64); });
  EXPECT_THAT(answers,
              ElementsAre(HasSubstr("no answer"),
                          "gpu1: NCCL reports an asynchronous error: remote "
                          "process exited or there was a network error (NCCL 6): peer closed"));
}

TEST(NcclCollectivesTest, RecognisesABrokenGpuInNcclsMessage) {
  const auto broken = [](std::string_view words) {
    const auto scenario = fmt::format(
        R"({{"async_error": {{"rank": 0, "operation": 0, "code": 1, "text": "{}"}}}})", words);
    const auto answers = run_ranks({.ranks = 1, .scenario = scenario}, [](Backend& backend) {
      const auto wrong = verify_once(backend, {.bytes = 64});
      return std::string(wrong ? "no error" : wrong.error().broken ? "broken" : "not");
    });
    return answers.front();
  };
  EXPECT_EQ(broken("Cuda failure 719 'unspecified launch failure'"), "broken");
  EXPECT_EQ(broken("Cuda failure 'uncorrectable ECC error encountered'"), "broken");
  EXPECT_EQ(broken("Cuda failure 226 'Invalid access of peer GPU memory over nvlink or a hardware "
                   "error'"),
            "broken");
  EXPECT_EQ(broken("Cuda failure 2 'out of memory'"), "not");
  EXPECT_EQ(broken("Call to ibv_modify_qp failed with 110"), "not");
}

// The errors of all ranks after another thread aborts them.
std::string stop_while_it_hangs(Backend& backend) {
  std::thread stopper([&backend] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    backend.abort();
  });
  auto said = verify_all_reduce(backend, 64);
  stopper.join();
  return said;
}

TEST(NcclCollectivesTest, EndsAHangWhenItIsAbortedEvenIfTheAbortHangs) {
  for (const auto* hang :
       {R"({"hang": {"rank": 1}})", R"({"hang": {"rank": 1}, "abort_hangs": true})"}) {
    EXPECT_THAT(run_ranks({.ranks = 3, .scenario = hang}, stop_while_it_hangs),
                Each(HasSubstr("NCCL's communicator was aborted")));
  }
}

}  // namespace
}  // namespace muster::bench
