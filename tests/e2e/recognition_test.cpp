// SPDX-License-Identifier: Apache-2.0
// No fault may hide a simulated node's kind: judged as another size, or as an unknown machine, it
// would pass for healthy.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/e2e/harness.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/render.hpp"

namespace muster::e2e {
namespace {

using ::testing::Contains;

TEST(RecognitionTest, EveryFaultLeavesTheNodeRecognised) {
  std::map<std::string, Stage, std::less<>> stages;
  for (const auto& fault : nodes::all_faults()) {
    const auto node = node_named(fault.node);
    auto& stage = stages[std::string(fault.node)];
    stage.show(render_with(node, {&fault}));
    EXPECT_EQ(profile_of(stage.root()), node.profile) << fault.name;
  }
}

TEST(RecognitionTest, ANodeWithoutItsRdmaStackIsUnhealthyWhoeverNamesItsProfile) {
  const auto* fault = nodes::find_fault("rdma_stack_not_loaded");
  ASSERT_NE(fault, nullptr);
  Stage stage;
  stage.show(render_with(node_named(fault->node), {fault}));
  const auto seen = examine(stage.root(), {});
  EXPECT_THAT(concerns(seen.report), Contains("fail ib.present node")) << explain(seen.report);
  EXPECT_EQ(seen.report.verdict, Verdict::unhealthy);
}

}  // namespace
}  // namespace muster::e2e
