// SPDX-License-Identifier: Apache-2.0
#include "bench/run/operations.hpp"

#include <string>
#include <utility>
#include <vector>

#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kGibibyte = 1ULL << 30U;

const RunFacts kGpus{.nodes = 1, .ranks = 8, .gpus = true};

Profile with_limit() {
  Profile profile;
  profile.bench->node_all_reduce.size = Bytes{16.0 * static_cast<double>(kGibibyte)};
  return profile;
}

std::uint64_t last_of(const BenchCommand& command, std::uint64_t free) {
  return sizes_of(command, with_limit(), kGpus, LeastMemory{.rank = 3, .bytes = free}).bytes.back();
}

TEST(SizesTest, EndAtTheLimitsSizeByDefault) {
  const auto sizes = sizes_of({}, with_limit(), kGpus);
  EXPECT_EQ(sizes.bytes.front(), 8U);
  EXPECT_EQ(sizes.bytes.back(), 16 * kGibibyte);
  EXPECT_EQ(sizes.remark, "");
  EXPECT_EQ(sizes_of({}, Profile{}, kGpus).bytes.back(), 8 * kGibibyte);
  EXPECT_EQ(sizes_of({}, with_limit(), RunFacts{}).bytes.back(), 64U << 20U);
}

TEST(SizesTest, EndAtTheLargestLimitForThisManyNodes) {
  const auto limit = [](int least, int most, std::uint64_t gib) {
    return JobLimit{.size = Bytes{static_cast<double>(gib * kGibibyte)},
                    .nodes_at_least = least,
                    .nodes_at_most = most};
  };
  Profile profile;
  profile.bench->job_all_reduce = {limit(2, 4, 32), limit(2, 64, 16), limit(32, 64, 4)};
  profile.bench->job_all_reduce.back().memory = BenchMemory::host;
  const auto last = [&](int nodes, bool gpus) {
    return sizes_of({}, profile, {.nodes = nodes, .ranks = 8 * nodes, .gpus = gpus}).bytes.back();
  };
  EXPECT_EQ(last(4, true), 32 * kGibibyte);
  EXPECT_EQ(last(5, true), 16 * kGibibyte);
  EXPECT_EQ(last(65, true), 8 * kGibibyte);
  EXPECT_EQ(last(4, false), 64U << 20U);
  EXPECT_EQ(last(32, false), 4 * kGibibyte);
}

TEST(SizesTest, EndWhereMemoryDoesByDefault) {
  EXPECT_EQ(last_of({}, 40 * kGibibyte), 16 * kGibibyte);
  EXPECT_EQ(last_of({}, 15 * kGibibyte), 4 * kGibibyte);
  EXPECT_EQ(last_of({.placement = Placement::in}, 15 * kGibibyte), 8 * kGibibyte);
  EXPECT_EQ(last_of({}, 0), 8U);
  const auto sizes =
      sizes_of({}, with_limit(), kGpus, LeastMemory{.rank = 3, .bytes = 15 * kGibibyte});
  EXPECT_EQ(sizes.remark,
            "sizes end at 4 GiB: two buffers of 16 GiB for each rank would not fit: rank 3 has 15 "
            "GiB free");
}

TEST(SizesTest, KeepTheSizesOfTheCommand) {
  BenchCommand command;
  command.max = 8 * kGibibyte;
  EXPECT_EQ(last_of(command, kGibibyte), 8 * kGibibyte);
  command.max.reset();
  command.sizes = {4 * kGibibyte};
  EXPECT_EQ(last_of(command, kGibibyte), 4 * kGibibyte);
  const auto sizes = sizes_of(command, with_limit(), kGpus, LeastMemory{.bytes = kGibibyte});
  EXPECT_EQ(sizes.remark, "");
}

Sizes sizes_among(int ranks, const BenchCommand& command) {
  return sizes_of(command, Profile{}, RunFacts{.ranks = ranks});
}

TEST(SizesTest, BeginWhereEachRankHasAnElement) {
  BenchCommand command{.collective = Collective::all_gather};
  const auto unasked = sizes_among(8, command);
  EXPECT_EQ(unasked.bytes.front(), 128U);
  EXPECT_EQ(unasked.remark, "");
  command.min = 8;
  const auto asked = sizes_among(8, command);
  EXPECT_EQ(asked.bytes, unasked.bytes);
  EXPECT_EQ(asked.remark, "sizes begin at 128 B: a smaller one has no element for each of 8 ranks");
  EXPECT_EQ(sizes_among(3, command).bytes.front(), 64U);
  command.min = 48;
  EXPECT_EQ(sizes_among(3, command).bytes.front(), 48U);
  command.min = 1;
  command.collective = Collective::all_reduce;
  command.type = Type::f64;
  EXPECT_EQ(sizes_among(8, command).bytes.front(), 8U);
}

// They are refused later, with the reason.
TEST(SizesTest, KeepListedSizesThatAreTooSmall) {
  BenchCommand command{.collective = Collective::all_gather};
  command.sizes = {8, 1024};
  EXPECT_THAT(sizes_among(8, command).bytes, ::testing::ElementsAre(8U, 1024U));
  command.sizes.clear();
  command.max = 16;
  EXPECT_THAT(sizes_among(8, command).bytes, ::testing::ElementsAre(16U));
}

TEST(SizesTest, DependOnTheRankWithTheLeastMemory) {
  const auto least = least_memory({30, std::nullopt, 20, 25});
  ASSERT_TRUE(least);
  EXPECT_EQ(least->rank, 2);
  EXPECT_EQ(least->bytes, 20U);
  EXPECT_FALSE(least_memory({std::nullopt, std::nullopt}));
}

struct Entered {
  std::string phase;
  double limit = 0;  // seconds
  ProgressCounters counters;
};

// The only rank.
class Alone final : public Group {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] Result<std::vector<std::string>> gather(std::string_view mine) override {
    return std::vector<std::string>{std::string(mine)};
  }

  [[nodiscard]] Result<std::string> broadcast(std::string_view text) override {
    return std::string(text);
  }

  [[nodiscard]] Result<void> barrier() override { return {}; }
  void enter(Phase phase, Clock::duration limit, ProgressCounters counters) override {
    entered.push_back({.phase = std::move(phase.name),
                       .limit = std::chrono::duration<double>(limit).count(),
                       .counters = std::move(counters)});
  }

  void give_up(Trouble /*reason*/) override {}

  std::vector<Entered> entered;
};

// Takes the given times.
class Scripted final : public Backend {
 public:
  explicit Scripted(std::vector<double> seconds) : seconds_(std::move(seconds)) {}

  [[nodiscard]] std::string library() const override { return "none"; }
  [[nodiscard]] int ranks() const override { return 1; }
  [[nodiscard]] std::vector<Member> members() const override { return {Member{}}; }
  [[nodiscard]] Result<void> supports(const Operation& /*operation*/,
                                      const Pace& /*pace*/) const override {
    return {};
  }

  [[nodiscard]] Result<void> reserve(const Operation& /*largest*/) override { return {}; }
  [[nodiscard]] Result<Batch> measure(const Operation& /*operation*/, const Pace& pace,
                                      Progress& progress) override {
    progress.reset();
    Samples samples;
    for (int i = 0; i < pace.iterations; ++i) {
      samples.seconds.push_back(seconds_[next_++ % seconds_.size()]);
      ++progress.finished;
    }
    ++batches;
    return Batch{.samples = {samples}, .wrong = wrong_after};
  }

  [[nodiscard]] Result<std::vector<Wrong>> verify(const Operation& /*operation*/,
                                                  const Pace& /*pace*/,
                                                  Progress& /*progress*/) override {
    return wrong_before;
  }

  int batches = 0;
  std::vector<Wrong> wrong_before, wrong_after;

 private:
  std::vector<double> seconds_;
  std::size_t next_ = 0;
};

const Operation kOperation{.bytes = 4096};

TEST(OperationTimerTest, LimitsEachIterationAndGivesTheFirstOperationTimeToConnect) {
  Alone group;
  Scripted backend({1e-3});
  const BenchCommand command{.join_deadline = Seconds{40}, .operation_deadline = Seconds{3}};
  OperationTimer timer(group, backend, command);
  ASSERT_TRUE(timer.run(kOperation));
  ASSERT_TRUE(timer.run(kOperation));
  std::vector<double> limits;
  for (const auto& each : group.entered) {
    EXPECT_EQ(each.phase, "all_reduce of 4 KiB");
    limits.push_back(each.limit);
  }
  EXPECT_THAT(limits, ElementsAre(43, 3, 3, 3));
  ASSERT_TRUE(group.entered[1].counters);
  EXPECT_EQ(group.entered[1].counters.finished(), 20U) << "every iteration counts";
}

TEST(OperationTimerTest, FindsWrongElementsAfterTiming) {
  Alone group;
  Scripted backend({1e-3});
  backend.wrong_after = {{.rank = 0, .elements = 1, .first = 7}};
  auto measured = OperationTimer(group, backend, {}).run(kOperation);
  ASSERT_TRUE(measured);
  EXPECT_THAT(measured->batch.wrong,
              ElementsAre(Wrong{.rank = 0, .elements = 1, .first = 7, .timed = true}));
  // Wrong elements found before timing come first.
  backend.wrong_before = {{.rank = 0, .elements = 2, .first = 3}};
  measured = OperationTimer(group, backend, {}).run(kOperation);
  ASSERT_TRUE(measured);
  EXPECT_THAT(measured->batch.wrong, ElementsAre(Wrong{.rank = 0, .elements = 2, .first = 3}));
}

TEST(OperationTimerTest, StopsOnceTheMedianIsPrecise) {
  Alone group;
  Scripted even({1e-3});
  const BenchCommand command{.precision = Percent{1}, .join_deadline = Seconds{1}};
  const auto measured = OperationTimer(group, even, command).run(kOperation);
  ASSERT_TRUE(measured);
  EXPECT_EQ(even.batches, 1);
  EXPECT_FALSE(measured->cut_short);
}

TEST(OperationTimerTest, EndsANoisyOperationInTime) {
  Alone group;
  Scripted noisy({1e-3, 9e-3});
  const BenchCommand command{.precision = Percent{1}, .operation_deadline = Seconds{1e-3}};
  const auto measured = OperationTimer(group, noisy, command).run(kOperation);
  ASSERT_TRUE(measured);
  EXPECT_TRUE(measured->cut_short);
  ASSERT_THAT(measured->batch.samples, SizeIs(1));
  EXPECT_THAT(measured->batch.samples.front().seconds, SizeIs(20 * noisy.batches));
}

}  // namespace

}  // namespace muster::bench
