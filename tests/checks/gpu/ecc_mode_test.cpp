// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_ecc_mode_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_ecc_mode::check, snapshot, profile);
}

TEST(GpuEccModeTest, PassesWhereEccIsOn) {
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(gpu_node::well("with ECC on")));
}

TEST(GpuEccModeTest, FailsWhereItIsOff) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).modes.ecc = false;
  EXPECT_EQ(judge(node).front(), (Finding{.device = "gpu1",
                                          .outcome = Outcome::fail,
                                          .message = "ECC is off, expected on (serial 165092301)",
                                          .observed = false,
                                          .limit = true,
                                          .remedy = Remedy::fix_config}));
}

TEST(GpuEccModeTest, FailsWhereTheNextResetTurnsItOff) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).modes.ecc_pending = false;
  EXPECT_EQ(judge(node).front().message,
            "ECC is on and will be off after the next reset (serial 165092300)");
}

TEST(GpuEccModeTest, SkipsAGpuThatHasNone) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).modes.ecc = Fact<bool>::absent("not supported");
  EXPECT_EQ(judge(node).front(), (Finding{.device = "gpu0",
                                          .outcome = Outcome::skip,
                                          .message = "the ECC mode is not known: not supported"}));
}

}  // namespace
}  // namespace muster::gpu_ecc_mode_test
