// SPDX-License-Identifier: Apache-2.0
#include "bench/train/training_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lib/report/bench_checks.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench::train {
namespace {

using node::GemmShape;

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

std::string refused(std::string_view text) {
  const auto model = parse_transformer(text);
  return model ? "" : model.error().message;
}

TEST(TransformerTest, HasTheProductsOfItsLayer) {
  const Transformer model{"small", 2, 128, 64, 256};
  const auto layer = products_of_layer(model, 1024);
  EXPECT_THAT(layer.forward, ElementsAre(GemmShape{1024, 256, 128}, GemmShape{1024, 128, 128},
                                         GemmShape{1024, 512, 128}, GemmShape{1024, 128, 256}));
  // The last one's first: of the input, and of the weights.
  ASSERT_EQ(layer.backward.size(), 8U);
  EXPECT_EQ(layer.backward[0], (GemmShape{1024, 256, 128}));
  EXPECT_EQ(layer.backward[1], (GemmShape{256, 128, 1024}));
  EXPECT_EQ(layer.backward[6], (GemmShape{1024, 128, 256}));
  EXPECT_EQ(layer.backward[7], (GemmShape{128, 256, 1024}));
}

// Six operations per parameter and token, as is customary.
TEST(TransformerTest, CountsSixOperationsForEachParameterAndToken) {
  for (const auto& model : transformers()) {
    const double parameters = model.layers * static_cast<double>(parameters_of_layer(model));
    EXPECT_DOUBLE_EQ(operations_of_step(model, 4096), 6 * parameters * 4096) << model.name;
  }
}

TEST(TransformerTest, LayersHaveNearlyAllParametersOfTheName) {
  const std::vector<double> billions{6.5, 7.0, 12.7, 68.5};
  for (std::size_t i = 0; i < transformers().size(); ++i) {
    const auto& model = transformers()[i];
    const double parameters = model.layers * static_cast<double>(parameters_of_layer(model));
    EXPECT_NEAR(parameters / 1e9, billions[i], 0.1) << model.name;
  }
}

TEST(TransformerTest, ParsesNamesAndNumbers) {
  EXPECT_EQ(parse_transformer("70b")->hidden, 8192U);
  EXPECT_EQ(*parse_transformer("3x128x512"), (Transformer{"3x128x512", 3, 128, 128, 512}));
  EXPECT_THAT(refused("7"), HasSubstr("there are 7b, 8b, 13b, 70b, or LAYERSxHIDDENxFEED_FORWARD"));
  EXPECT_THAT(refused("8B"), HasSubstr("did you mean 8b?"));
  EXPECT_THAT(refused("0x128x512"), HasSubstr("\"0\", expected a number of layers up to 1000"));
  EXPECT_THAT(refused("3x100x512"), HasSubstr("\"100\", expected a multiple of 64"));
  EXPECT_THAT(refused("3x128x5e2"), HasSubstr("\"5e2\", expected a multiple of 64"));
}

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
