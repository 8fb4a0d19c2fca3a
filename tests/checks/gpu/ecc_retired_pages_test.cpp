// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_ecc_retired_pages_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_ecc_retired_pages::check, snapshot, profile);
}

GpuRetiredPages pages(std::uint64_t single_bit, std::uint64_t double_bit, bool pending) {
  return {.single_bit = single_bit, .double_bit = double_bit, .pending = pending};
}

TEST(GpuEccRetiredPagesTest, SkipsGpusThatRemapRows) {
  EXPECT_EQ(judge(gpu_node::node()).front().outcome, Outcome::skip);
}

TEST(GpuEccRetiredPagesTest, PassesWithFewPages) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.retired_pages = pages(30, 30, false);
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuEccRetiredPagesTest, FailsWithTooManyOrWithOneThatWaits) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).retired_pages = pages(59, 2, true);
  gpu_node::gpu(node, 1).retired_pages = pages(0, 1, true);
  EXPECT_THAT(
      judge(node),
      ElementsAre(
          fails("gpu0", Remedy::reseat_or_replace, {std::int64_t{61}, std::int64_t{60}, "pages"}),
          fails("gpu1", Remedy::reset_gpu, {std::int64_t{1}, std::int64_t{60}, "pages"})));
}

TEST(GpuEccRetiredPagesTest, AFactMissingUnlikeSistersIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).retired_pages = pages(0, 0, false);
  EXPECT_EQ(judge(node).front(), (unknown("gpu1")));
  gpu_node::gpu(node, 1).retired_pages.single_bit = 0U;
  gpu_node::gpu(node, 1).retired_pages.double_bit = 0U;
  EXPECT_EQ(judge(node).front(), (unknown("gpu1")));
}

}  // namespace
}  // namespace muster::gpu_ecc_retired_pages_test
