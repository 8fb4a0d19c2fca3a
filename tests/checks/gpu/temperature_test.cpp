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
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(passes()));
}

TEST(GpuTemperatureTest, TheWorstOfGpuAndMemoryCounts) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).heat = {.gpu_c = 86, .memory_c = 106, .margin_c = 3};
  EXPECT_EQ(judge(node).front(),
            (fails("gpu0", Remedy::report_to_provider, {std::int64_t{106}, 105.0, "C"})));
}

// HBM above 90 C is normal under load: the GPU's limit does not apply.
TEST(GpuTemperatureTest, MemoryHasALimitOfItsOwn) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).heat = {.gpu_c = 72, .memory_c = 92, .margin_c = 15};
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuTemperatureTest, MemoryIsJudgedByTheGpusOwnLimitWhereTheProfileHasNone) {
  Snapshot node = gpu_node::node();
  auto profile = gpu_node::profile();
  profile.gpu->temperature.memory_fail_above.reset();
  gpu_node::gpu(node, 0).heat = {.gpu_c = 72, .memory_c = 95, .memory_max_c = 95, .margin_c = 15};
  EXPECT_THAT(judge(node, profile), ElementsAre(passes()));
  gpu_node::gpu(node, 0).heat.memory_c = 96;
  EXPECT_EQ(judge(node, profile).front(),
            (fails("gpu0", Remedy::report_to_provider, {std::int64_t{96}, 95.0, "C"})));
}

TEST(GpuTemperatureTest, FailsAtAndAboveTheGpusOwnSlowdown) {
  for (const int above : {0, 8}) {
    Snapshot node = gpu_node::node();
    gpu_node::gpu(node, 1).heat = {.gpu_c = 89 + above, .memory_c = 60, .margin_c = -above};
    auto profile = gpu_node::profile();
    profile.gpu->temperature = {};
    EXPECT_EQ(judge(node, profile).front(),
              (fails("gpu1", Remedy::report_to_provider, {std::int64_t{-above}, 0.0, "C"})));
  }
}

TEST(GpuTemperatureTest, FailsAHotPartEvenIfTheOtherIsUnknown) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).heat = {.gpu_c = 97, .memory_c = Fact<int>::unreadable("no word")};
  gpu_node::gpu(node, 1).heat = {.gpu_c = Fact<int>::unreadable("no word"), .memory_c = 106};
  EXPECT_THAT(
      judge(node),
      ElementsAre(fails("gpu0", Remedy::reseat_or_replace, {std::int64_t{97}, 90.0, "C"}),
                  fails("gpu1", Remedy::reseat_or_replace, {std::int64_t{106}, 105.0, "C"})));
}

TEST(GpuTemperatureTest, IsUnknownIfOneTemperatureIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).heat = {.gpu_c = 86, .memory_c = Fact<int>::unreadable("no word")};
  gpu_node::gpu(node, 1).heat = {.gpu_c = Fact<int>::unreadable("no answer"), .memory_c = 41};
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu0"), unknown("gpu1")));
}

TEST(GpuTemperatureTest, WarnsCloseToTheGpusOwnLimit) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).heat = {
      .gpu_c = 80, .memory_c = Fact<int>::absent("not supported"), .margin_c = 4};
  EXPECT_EQ(judge(node).front(), (warns("gpu1", Remedy::watch, {std::int64_t{4}, 5.0, "C"})));
}

}  // namespace
}  // namespace muster::gpu_temperature_test
