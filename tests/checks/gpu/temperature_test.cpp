// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_temperature_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_temperature::check, snapshot, profile);
}

TEST(GpuTemperatureTest, PassesWhereAllAreCool) {
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(gpu_node::well("cool enough")));
}

TEST(GpuTemperatureTest, TheWorstOfGpuAndMemoryCounts) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).heat = {.gpu_c = 86, .memory_c = 106, .margin_c = 3};
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu0",
                     .outcome = Outcome::fail,
                     .message = "the memory is at 106 C, above 105 C (serial 165092300)",
                     .observed = std::int64_t{106},
                     .limit = 105.0,
                     .unit = "C",
                     .remedy = Remedy::report_to_provider}));
}

// HBM above 90 C is usual under load: the GPU's limit says nothing of it.
TEST(GpuTemperatureTest, MemoryHasALimitOfItsOwn) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).heat = {.gpu_c = 72, .memory_c = 92, .margin_c = 15};
  EXPECT_THAT(judge(node), ElementsAre(gpu_node::well("cool enough")));
}

TEST(GpuTemperatureTest, MemoryIsJudgedByTheGpusOwnLimitWhereTheProfileHasNone) {
  Snapshot node = gpu_node::node();
  auto profile = gpu_node::profile();
  profile.gpu->temperature.memory_fail_above.reset();
  gpu_node::gpu(node, 0).heat = {.gpu_c = 72, .memory_c = 95, .memory_max_c = 95, .margin_c = 15};
  EXPECT_THAT(judge(node, profile), ElementsAre(gpu_node::well("cool enough")));
  gpu_node::gpu(node, 0).heat.memory_c = 96;
  EXPECT_EQ(judge(node, profile).front(),
            (Finding{.device = "gpu0",
                     .outcome = Outcome::fail,
                     .message = "the memory is at 96 C, above the GPU's own limit of 95 C (serial "
                                "165092300)",
                     .observed = std::int64_t{96},
                     .limit = 95.0,
                     .unit = "C",
                     .remedy = Remedy::report_to_provider}));
}

TEST(GpuTemperatureTest, FailsAtAndAboveTheGpusOwnSlowdown) {
  for (const int above : {0, 8}) {
    Snapshot node = gpu_node::node();
    gpu_node::gpu(node, 1).heat = {.gpu_c = 89 + above, .memory_c = 60, .margin_c = -above};
    auto profile = gpu_node::profile();
    profile.gpu->temperature = {};
    EXPECT_EQ(judge(node, profile).front(),
              (Finding{.device = "gpu1",
                       .outcome = Outcome::fail,
                       .message = fmt::format(
                           "{} the point where the GPU slows itself down (serial 165092301)",
                           above == 0 ? "at" : fmt::format("{} C above", above)),
                       .observed = std::int64_t{-above},
                       .limit = 0.0,
                       .unit = "C",
                       .remedy = Remedy::report_to_provider}));
  }
}

TEST(GpuTemperatureTest, WhatIsTooHotFailsThoughTheOtherIsNotKnown) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).heat = {.gpu_c = 97, .memory_c = Fact<int>::unreadable("no word")};
  gpu_node::gpu(node, 1).heat = {.gpu_c = Fact<int>::unreadable("no word"), .memory_c = 106};
  EXPECT_THAT(
      judge(node),
      ElementsAre(Finding{.device = "gpu0",
                          .outcome = Outcome::fail,
                          .message = "the GPU is at 97 C, above 90 C (serial 165092300)",
                          .observed = std::int64_t{97},
                          .limit = 90.0,
                          .unit = "C",
                          .remedy = Remedy::reseat_or_replace},
                  Finding{.device = "gpu1",
                          .outcome = Outcome::fail,
                          .message = "the memory is at 106 C, above 105 C (serial 165092301)",
                          .observed = std::int64_t{106},
                          .limit = 105.0,
                          .unit = "C",
                          .remedy = Remedy::reseat_or_replace}));
}

TEST(GpuTemperatureTest, WhatIsNotTooHotIsUnknownWhereTheOtherIsNotKnown) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).heat = {.gpu_c = 86, .memory_c = Fact<int>::unreadable("no word")};
  gpu_node::gpu(node, 1).heat = {.gpu_c = Fact<int>::unreadable("no answer"), .memory_c = 41};
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "gpu0",
                                  .outcome = Outcome::unknown,
                                  .message = "the temperature of the memory is not known: no word"},
                          Finding{.device = "gpu1",
                                  .outcome = Outcome::unknown,
                                  .message = "the temperature is not known: no answer"}));
}

TEST(GpuTemperatureTest, WarnsCloseToTheGpusOwnLimit) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).heat = {
      .gpu_c = 80, .memory_c = Fact<int>::absent("not supported"), .margin_c = 4};
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu1",
                     .outcome = Outcome::warn,
                     .message = "4 C from where the GPU slows itself down, expected at least 5 C "
                                "(serial 165092301)",
                     .observed = std::int64_t{4},
                     .limit = 5.0,
                     .unit = "C",
                     .remedy = Remedy::watch}));
}

}  // namespace
}  // namespace muster::gpu_temperature_test
