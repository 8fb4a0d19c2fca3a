// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "bench/train/training_step.hpp"
#include "lib/report/bench_checks.hpp"

namespace muster::bench::train {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::vector<const char*>& words) {
  const auto parsed = parse(words);
  return parsed ? "" : parsed.error().message;
}

TEST(TrainCommandTest, AcceptsAModelAndTheOptionsOfAJob) {
  const auto parsed = parse(std::vector<const char*>{"--model", "70b", "--tokens=8192", "--steps",
                                                     "3", "--number", "fp16", "--local=8"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto& command = std::get<TrainCommand>(*parsed);
  EXPECT_EQ(command.model.layers, 80);
  EXPECT_EQ(command.tokens, 8192U);
  EXPECT_EQ(command.steps, 3);
  EXPECT_EQ(command.number, Number::fp16);
  EXPECT_EQ(command.local, 8);
}

TEST(TrainCommandTest, RefusesInvalidSteps) {
  EXPECT_THAT(error_of({"--model", "9b"}), HasSubstr("unknown model \"9b\""));
  EXPECT_THAT(error_of({"--tokens", "100"}), HasSubstr("a multiple of 64"));
  EXPECT_THAT(error_of({"--steps", "0"}), HasSubstr("--steps"));
  EXPECT_THAT(error_of({"--min-tokens", "-1"}), HasSubstr("above zero"));
  EXPECT_THAT(error_of({"--backend", "tcp"}), HasSubstr("requires --backend nccl"));
  EXPECT_THAT(error_of({"--sizes", "8"}), HasSubstr("see muster-bench train_step --help"));
}

TEST(TrainCommandTest, HasACheckThatCanBeExplained) {
  EXPECT_NE(find_bench_check("bench.train_step"), nullptr);
}

}  // namespace
}  // namespace muster::bench::train
