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

TEST(GpuEccRetiredPagesTest, SkipsWhatRemapsRowsInstead) {
  EXPECT_EQ(judge(gpu_node::node()).front().outcome, Outcome::skip);
}

TEST(GpuEccRetiredPagesTest, PassesWithFewPages) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.retired_pages = pages(30, 30, false);
  EXPECT_THAT(judge(node), ElementsAre(gpu_node::well("with sound memory pages")));
}

TEST(GpuEccRetiredPagesTest, FailsWithTooManyOrWithOneThatWaits) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).retired_pages = pages(59, 2, true);
  gpu_node::gpu(node, 1).retired_pages = pages(0, 1, true);
  EXPECT_THAT(
      judge(node),
      ElementsAre(Finding{.device = "gpu0",
                          .outcome = Outcome::fail,
                          .message = "61 retired pages, more than 60 (serial 165092300)",
                          .observed = std::int64_t{61},
                          .limit = std::int64_t{60},
                          .unit = "pages",
                          .remedy = Remedy::reseat_or_replace},
                  Finding{.device = "gpu1",
                          .outcome = Outcome::fail,
                          .message = "a bad page waits for a reset to be retired; 1 page so far "
                                     "(serial 165092301)",
                          .observed = std::int64_t{1},
                          .limit = std::int64_t{60},
                          .unit = "pages",
                          .remedy = Remedy::reset_gpu}));
}

TEST(GpuEccRetiredPagesTest, AGpuThatTellsNothingBesideOthersOfItsModelIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).retired_pages = pages(0, 0, false);
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu1",
                     .outcome = Outcome::unknown,
                     .message = "the count of retired pages is not known: not supported; 1 GPU of "
                                "the same model tells it"}));
  gpu_node::gpu(node, 1).retired_pages.single_bit = 0U;
  gpu_node::gpu(node, 1).retired_pages.double_bit = 0U;
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu1",
                     .outcome = Outcome::unknown,
                     .message = "whether pages are pending is not known: not supported; 1 GPU of "
                                "the same model tells it"}));
}

}  // namespace
}  // namespace muster::gpu_ecc_retired_pages_test
