// SPDX-License-Identifier: Apache-2.0
// The times that the NCCL back end measures, on the fake libraries' virtual clock.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "bench/backends/nccl/gpu.hpp"
#include "bench/collectives/definition.hpp"
#include "lib/base/text.hpp"
#include "tests/bench/backends/battery.hpp"
#include "tests/bench/backends/nccl/ranks.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

using ::testing::Ge;
using ::testing::Lt;

constexpr std::uint64_t kGib = 1UL << 30;

// The seconds that each rank measures.
std::vector<std::vector<double>> times(const World& world, const Operation& operation,
                                       const Pace& pace) {
  const auto answers = run_ranks(world, [&](Backend& backend) {
    const auto batch = measure_once(backend, operation, pace);
    if (!batch) return batch.error().message;
    return fmt::format("{:.12e}", fmt::join(batch->samples.front().seconds, " "));
  });
  std::vector<std::vector<double>> all;
  for (const auto& answer : answers) {
    auto& own = all.emplace_back();
    for (const auto word : split_words(answer)) {
      if (!parse_number(word)) ADD_FAILURE() << answer;
      own.push_back(parse_number(word).value_or(0));
    }
  }
  return all;
}

// The bus bandwidths that all ranks measure, in GB/s.
std::vector<double> busbw(const World& world, const Operation& operation, const Pace& pace) {
  const auto bytes = static_cast<double>(shape_of(operation, 0, world.ranks).bytes);
  std::vector<double> rates;
  for (const auto& own : times(world, operation, pace)) {
    for (const double seconds : own) {
      rates.push_back(bytes / seconds / 1e9 * bus_factor(operation.collective, world.ranks));
    }
  }
  return rates;
}

struct Case {
  std::string name;
  double busbw_gbs;
  Pace pace;
};

class NcclTimingTest : public ::testing::TestWithParam<Case> {};

TEST_P(NcclTimingTest, MeasuresTheBandwidthOf16Ranks) {
  const auto& now = GetParam();
  const auto rates = busbw(
      {.ranks = 16, .scenario = fmt::format(R"({{"busbw": {{"all_reduce": {}}}}})", now.busbw_gbs)},
      {.bytes = 8 * kGib}, now.pace);
  EXPECT_THAT(rates, SizeIs(16 * static_cast<std::size_t>(now.pace.iterations)));
  // Never less than was said, and not so much more that a limit would be passed by it.
  EXPECT_THAT(rates, Each(AllOf(Ge(now.busbw_gbs), Lt(now.busbw_gbs * (1 + 3e-7)))));
}

TEST(NcclTimingCpuTest, MeasuresTheCpuTimeOfStartingIfRequested) {
  const auto answers = run_ranks({.ranks = 2}, [](Backend& backend) {
    std::string counts;
    for (const bool pipelined : {false, true}) {
      for (const bool cpu_time : {false, true}) {
        const auto batch = measure_once(
            backend, {.bytes = 64},
            {.warm_up = 1, .iterations = 3, .pipelined = pipelined, .cpu_time = cpu_time});
        if (!batch) return batch.error().message;
        const auto& of_rank = batch->samples.front();
        counts += fmt::format("{}/{} ", of_rank.cpu_seconds.size(), of_rank.seconds.size());
      }
    }
    return counts;
  });
  EXPECT_THAT(answers, Each(std::string("0/3 3/3 0/3 3/3 ")));
}

INSTANTIATE_TEST_SUITE_P(
    Paces, NcclTimingTest,
    ::testing::Values(Case{"OneByOne", 187, {.warm_up = 2, .iterations = 5}},
                      Case{"BackToBack", 184.9, {.warm_up = 2, .iterations = 5, .pipelined = true}},
                      Case{"AtTheLimit", 185, {.warm_up = 1, .iterations = 2}},
                      Case{"Graphs", 187, {.warm_up = 1, .iterations = 3, .graph = true}},
                      Case{"GraphsBackToBack",
                           184.9,
                           {.warm_up = 1, .iterations = 3, .pipelined = true, .graph = true}}),
    [](const auto& param) { return param.param.name; });

TEST(NcclTimesTest, MeasuresTheBandwidthOfEveryCollective) {
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const Operation operation{.collective = static_cast<Collective>(i), .bytes = 1 << 20};
    const auto by = definition_of(operation.collective).nccl.by;
    // The fake treats each group as a separate operation.
    if (by == NcclUse::By::nothing || by == NcclUse::By::groups) continue;
    const auto name = to_string(operation.collective);
    EXPECT_THAT(busbw({.ranks = 4, .scenario = fmt::format(R"({{"busbw": {{"{}": 50}}}})", name)},
                      operation, {.warm_up = 1, .iterations = 2}),
                AllOf(SizeIs(8), Each(AllOf(Ge(50), Lt(50.0001)))))
        << name;
  }
}

TEST(NcclTimesTest, MeasuresOneOperationOfAGroup) {
  for (const bool graph : {false, true}) {
    EXPECT_THAT(busbw({.ranks = 2, .scenario = R"({"busbw": {"*": 100}})"}, {.bytes = 1 << 20},
                      {.warm_up = 1, .iterations = 3, .graph = graph, .together = 8}),
                AllOf(SizeIs(6), Each(AllOf(Ge(100), Lt(100.001)))))
        << graph;
  }
}

TEST(NcclTimesTest, IncludesTheWaitForALateRank) {
  const auto measured =
      times({.ranks = 3, .scenario = R"({"busbw": {"*": 100}, "slow": {"rank": 1, "us": 500}})"},
            {.bytes = 1 << 20}, {.warm_up = 0, .iterations = 1});
  EXPECT_NEAR(measured[0].at(0), 500e-6 + (1 << 20) * (4.0 / 3) / 100e9, 1e-9);
}

// The ranks synchronise in the third operation, and the fourth is timed.
TEST(NcclTimesTest, ExcludesADelayBeforeTheFirstPipelinedOperation) {
  const auto first = [](int late) {
    const auto scenario = fmt::format(
        R"({{"busbw": {{"*": 100}}, "slow": {{"rank": 1, "operation": {}, "us": 500}}}})", late);
    return times({.ranks = 2, .scenario = scenario}, {.bytes = 1 << 20},
                 {.warm_up = 2, .iterations = 2, .pipelined = true})[0]
        .at(0);
  };
  const double expected = (1 << 20) / 100e9;
  EXPECT_NEAR(first(2), expected, 1e-9);
  EXPECT_NEAR(first(3), expected + 500e-6, 1e-9);
}

TEST(NcclTimesTest, StaysAwakeNearTheExpectedEnd) {
  using std::chrono::milliseconds;
  const auto naps = [](int waited, int expected) {
    return may_nap(milliseconds(waited), milliseconds(expected));
  };
  EXPECT_FALSE(naps(49, 0));
  EXPECT_TRUE(naps(50, 0));
  EXPECT_FALSE(naps(10, 20));  // too short to sleep in
  EXPECT_TRUE(naps(60, 20));
  EXPECT_TRUE(naps(0, 100));
  EXPECT_TRUE(naps(89, 100));
  EXPECT_FALSE(naps(91, 100));
  EXPECT_FALSE(naps(199, 100));
  EXPECT_TRUE(naps(200, 100));
}

TEST(NcclTimesTest, EndsACaptureThatFails) {
  const auto said = run_alone("{}", []() -> std::string {
    const auto library = cuda::open_library(fake_cuda());
    if (library->init.call(0) != cuda::kSuccess) return "no driver";
    const auto gpu = Gpu::open(*library, 0);
    if (!gpu) return gpu.error().message;
    const auto failed = (*gpu)->capture([]() -> Result<void> { return make_error("too bad"); });
    const auto later = (*gpu)->wait([]() -> Result<void> { return {}; });
    return fmt::format("{}, {}", failed.error().message, later ? "goes on" : later.error().message);
  });
  EXPECT_EQ(said, "too bad, goes on");
}

TEST(NcclTimesTest, MeasuresEmptyParts) {
  for (const bool graph : {false, true}) {
    EXPECT_THAT(times({.ranks = 2}, {.collective = Collective::all_gather, .bytes = 8},
                      {.warm_up = 1, .iterations = 2, .graph = graph}),
                Each(ElementsAre(0, 0)));
  }
}

TEST(NcclTimesTest, NeedsReservedMemory) {
  const auto answers = run_ranks({.ranks = 1}, [](Backend& backend) {
    Progress progress;
    const auto samples = backend.measure({.bytes = 1024}, {}, progress);
    return samples ? std::string("measured") : samples.error().message;
  });
  EXPECT_THAT(answers, Each(HasSubstr("needs buffers of 1024 and 1024 B, but 0 and 0 B are")));
}

std::string free_gib(Backend& backend) {
  return fmt::format("{:.1f}", static_cast<double>(*backend.memory_free()) / kGib);
}

// NCCL gets a sixteenth, from 1 to 5 GiB. Of 20 GiB, two buffers of 12 GiB are too much, but one is
// not.
TEST(NcclTimesTest, ReportsAndReservesFreeMemory) {
  const auto answers =
      run_ranks({.ranks = 1, .scenario = R"({"memory_gib": 20})"}, [](Backend& backend) {
        const auto before = free_gib(backend);
        const bool both = backend.reserve({.bytes = 12 * kGib}).has_value();
        const bool one = backend.reserve({.in_place = true, .bytes = 12 * kGib}).has_value();
        return fmt::format("{} {} {} {}", before, both, one, free_gib(backend));
      });
  EXPECT_THAT(answers, Each("18.7 false true 18.7"));
  for (const auto& [memory, left] : {std::pair(8, "7.0"), {80, "75.0"}, {192, "187.0"}}) {
    EXPECT_THAT(run_ranks({.ranks = 1, .scenario = fmt::format(R"({{"memory_gib": {}}})", memory)},
                          free_gib),
                Each(left));
  }
}

TEST(NcclTimesTest, ReportsFreeMemoryIfItIsTooLittle) {
  const auto answers =
      run_ranks({.ranks = 1, .scenario = R"({"memory_gib": 10})"}, [](Backend& backend) {
        const auto reserved = backend.reserve({.bytes = 8 * kGib});
        return reserved ? std::string("reserved") : reserved.error().message;
      });
  EXPECT_THAT(answers, Each(AllOf(HasSubstr("gpu0: allocate 8 GiB on the GPU: cuMemAlloc: "
                                            "out of memory (CUDA 2, CUDA_ERROR_OUT_OF_MEMORY)"),
                                  HasSubstr("of 10 GiB are free"))));
}

}  // namespace
}  // namespace muster::bench
