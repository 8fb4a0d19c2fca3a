// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/train/training_step.hpp"

namespace muster::bench::train {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Member> members(int count) {
  std::vector<Member> all;
  for (int rank = 0; rank < count; ++rank) {
    all.push_back({.rank = rank, .host = "gpu-0001", .device_id = fmt::format("gpu{}", rank)});
  }
  return all;
}

std::vector<RankSteps> steps(std::size_t ranks) {
  return std::vector<RankSteps>(ranks, {.products = {0.4, 0.4, 0.4},
                                        .reductions = {0.1, 0.1, 0.1},
                                        .both = {0.42, 0.42, 0.42},
                                        .wrong = {}});
}

Finding of_device(const std::vector<Finding>& findings, std::string_view device) {
  const auto found = std::ranges::find(findings, device, &Finding::device);
  return found == findings.end() ? Finding{} : *found;
}

TEST(TrainResultsTest, AStepTakesAsLongAsItsSlowestRank) {
  auto ranks = steps(2);
  ranks[1].both = {0.41, 0.5, 0.44};
  const auto times = times_of(ranks);
  EXPECT_DOUBLE_EQ(times.products, 0.4);
  EXPECT_DOUBLE_EQ(times.both, 0.44);
  EXPECT_NEAR(times.loss(), 0.1, 1e-9);
  EXPECT_EQ((StepTimes{.products = 1, .reductions = 0.1, .both = 0.99}).loss(), 0);
}

TEST(TrainResultsTest, CountsTokensOfTheWholeJobAndOperationsOfEachGpu) {
  TrainCommand command;
  command.tokens = 4096;
  const auto all =
      measurements_of(times_of(steps(8)), command, {.nodes = 1, .ranks = 8, .backend = "nccl"});
  const auto value = [&](std::string_view quantity) {
    return std::ranges::find(all, quantity, &Measurement::quantity)->value;
  };
  EXPECT_NEAR(value("steps_per_second"), 1 / 0.42, 1e-9);
  EXPECT_NEAR(value("tokens_per_second"), 8 * 4096 / 0.42, 1e-6);
  EXPECT_NEAR(value("products_tflops"), operations_of_step(command.model, 4096) / 0.4 / 1e12, 1e-6);
  const double bytes = 2.0 * 32 * static_cast<double>(parameters_of_layer(command.model));
  EXPECT_NEAR(value("busbw"), bytes * 2 * 7 / 8 / 0.1 / 1e9, 1e-6);
  EXPECT_NEAR(value("lost_by_each_other"), 5, 1e-9);
}

TEST(TrainResultsTest, IsUnknownWithoutALimit) {
  TrainCommand command;
  const auto job = [&] { return of_device(findings_of(steps(2), members(2), command), "job"); };
  EXPECT_EQ(job().outcome, Outcome::unknown);
  EXPECT_THAT(job().message, HasSubstr("--min-tokens is not set"));
  command.min_tokens = 19'000;  // 19,505 are reached
  EXPECT_EQ(job().outcome, Outcome::pass);
  command.min_tokens = 20'000;
  EXPECT_EQ(job().outcome, Outcome::fail);
  EXPECT_EQ(std::get<double>(job().limit), 20'000);
}

TEST(TrainResultsTest, NamesAGpuWithSlowProducts) {
  auto ranks = steps(8);
  EXPECT_THAT(of_device(findings_of(ranks, members(8), {}), "gpu-0001 gpu3").message, IsEmpty());
  ranks[3].products = {0.5, 0.46, 0.45};
  const auto slow = of_device(findings_of(ranks, members(8), {}), "gpu-0001 gpu3");
  EXPECT_EQ(slow.outcome, Outcome::warn);
  EXPECT_THAT(slow.message, HasSubstr("its products take 15.0% longer"));
  // Three are too few to compare.
  ranks.resize(3);
  ranks[2].products = {0.5, 0.5, 0.5};
  EXPECT_THAT(of_device(findings_of(ranks, members(3), {}), "gpu-0001 gpu2").message, IsEmpty());
}

TEST(TrainResultsTest, AWrongProductFails) {
  auto ranks = steps(2);
  ranks[1].wrong = {"a product in bf16 is wrong"};
  const auto wrong = of_device(findings_of(ranks, members(2), {}), "gpu-0001 gpu1");
  EXPECT_EQ(wrong.outcome, Outcome::fail);
  EXPECT_EQ(wrong.message, "a product in bf16 is wrong");
}

}  // namespace
}  // namespace muster::bench::train
