// SPDX-License-Identifier: Apache-2.0
// The temperature and the power limit of GPUs.
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"

namespace muster::gpu_power_test {
namespace {

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_power::check, snapshot, profile);
}

TEST(GpuPowerTest, PassesAtTheExpectedLimit) {
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(passes()));
}

TEST(GpuPowerTest, WarnsOfALoweredOne) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).power.enforced_mw = 500000U;
  EXPECT_EQ(judge(node).front(), (warns("gpu0", Remedy::fix_config, {500.0, 700.0, "W"})));
}

TEST(GpuPowerTest, WithoutAnExpectationTheDefaultCounts) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).power.enforced_mw = 500000U;
  EXPECT_EQ(judge(node, Profile{}).front(), warns("gpu0", Remedy::fix_config, {500.0, 700.0, "W"}));
}

TEST(GpuPowerTest, ALimitThatAllGpusShareIsTheSites) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) {
    gpu.power.enforced_mw = 500000U;
    gpu.power.set_mw = 500000U;
  }
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(passes()));
  EXPECT_EQ(judge(node).front().outcome, Outcome::warn);
  // Lowered without setting it.
  gpu_node::gpu(node, 1).power.set_mw = 700000U;
  EXPECT_EQ(judge(node, Profile{}).size(), 2U);
}

}  // namespace
}  // namespace muster::gpu_power_test

namespace muster::gpu_temperature_test {
namespace {

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_temperature::check, snapshot, profile);
}

TEST(GpuTemperatureTest, JudgesOneChange) {
  expect_findings(
      checks::gpu_temperature::check, gpu_node::node(), gpu_node::profile(),
      {
          {"passes where all are cool", [](Snapshot&) {}, {passes()}},
          {"the worst of GPU and memory counts",
           [](Snapshot& node) {
             gpu_node::gpu(node, 0).heat = {.gpu_c = 86, .memory_c = 106, .margin_c = 3};
           },
           {fails("gpu0", Remedy::report_to_provider, {std::int64_t{106}, 105.0, "C"}), passes()}},
          // HBM above 90 C is normal under load: the GPU's limit does not apply.
          {"memory has a limit of its own",
           [](Snapshot& node) {
             gpu_node::gpu(node, 0).heat = {.gpu_c = 72, .memory_c = 92, .margin_c = 15};
           },
           {passes()}},
          {"is unknown if one temperature is unknown",
           [](Snapshot& node) {
             gpu_node::gpu(node, 0).heat = {.gpu_c = 86,
                                            .memory_c = Fact<int>::unreadable("no word")};
             gpu_node::gpu(node, 1).heat = {.gpu_c = Fact<int>::unreadable("no answer"),
                                            .memory_c = 41};
           },
           {unknown("gpu0"), unknown("gpu1")}},
          {"warns close to the GPUs own limit",
           [](Snapshot& node) {
             gpu_node::gpu(node, 1).heat = {
                 .gpu_c = 80, .memory_c = Fact<int>::absent("not supported"), .margin_c = 4};
           },
           {warns("gpu1", Remedy::watch, {std::int64_t{4}, 5.0, "C"}), passes()}},
      });
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

}  // namespace
}  // namespace muster::gpu_temperature_test
