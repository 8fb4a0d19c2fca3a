// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_ecc_uncorrectable, snapshot, profile);
}

TEST(GpuEccUncorrectableTest, PassesWithoutErrors) {
  EXPECT_THAT(judge(gpu_node::node()),
              ElementsAre(gpu_node::well("without uncorrected memory errors")));
}

TEST(GpuEccUncorrectableTest, OneErrorFails) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 1).ecc_volatile.sram_uncorrected = 1U;
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu1",
                     .outcome = Outcome::fail,
                     .message = "0 uncorrected errors in DRAM and 1 in SRAM since the driver was "
                                "loaded (serial 165092301)",
                     .observed = std::int64_t{1},
                     .limit = std::int64_t{0},
                     .unit = "errors",
                     .remedy = Remedy::reset_gpu}));
}

TEST(GpuEccUncorrectableTest, ACounterThatCannotBeReadIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).ecc_volatile.sram_uncorrected =
      Fact<std::uint64_t>::unreadable("unknown error");
  EXPECT_EQ(judge(node).front().outcome, Outcome::unknown);
}

TEST(GpuEccUncorrectableTest, AGpuThatCountsNothingIsSkipped) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).ecc_volatile = {};
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip);
}

}  // namespace
}  // namespace muster
