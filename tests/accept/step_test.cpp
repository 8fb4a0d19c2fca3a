// SPDX-License-Identifier: Apache-2.0
#include "accept/step.hpp"

#include "accept/standing_text.hpp"
#include "tests/support/matchers.hpp"

namespace muster::accept {
namespace {

Snapshot node_with_gpu() {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.hostname = "gpu-1", .boot_id = std::string("b1")});
  Gpu gpu{.index = 3, .serial = std::string("165"), .model = std::string("H100")};
  gpu.firmware.vbios = std::string("96.00");
  snapshot.nvml = observed(Nvml{.driver = std::string("580.1"), .gpus = {gpu}});
  snapshot.infiniband = observed(Infiniband{.hcas = {{.name = "mlx5_0"}}});
  return snapshot;
}

TEST(IdentityTest, NamesPartsAndVersions) {
  const auto answer = identity_of(node_with_gpu());
  EXPECT_EQ(answer.host, "gpu-1");
  EXPECT_EQ(answer.boot_id, "b1");
  ASSERT_THAT(answer.parts, SizeIs(2));
  EXPECT_EQ(answer.parts[0], (Part{"gpu", "gpu3", "165", "H100", "96.00", ""}));
  EXPECT_EQ(answer.parts[1].kind, "hca");
  EXPECT_EQ(answer.stack.at("driver"), "580.1");
  EXPECT_EQ(answer.stack.at("gpus"), "1");
}

TEST(IdentityTest, SaysWhyThereAreNoGpus) {
  Snapshot snapshot;
  snapshot.nvml = {.status = Status::error, .reason = "no driver"};
  const auto answer = identity_of(snapshot);
  EXPECT_THAT(answer.parts, IsEmpty());
  EXPECT_EQ(answer.stack.at("gpus"), "none: no driver");
}

TEST(WorkTest, NamesTheProcessOnAGpu) {
  auto snapshot = node_with_gpu();
  EXPECT_EQ(work_on(snapshot), "");
  snapshot.nvml->gpus[0].processes = std::vector<GpuProcess>{{.pid = 42, .name = "python3"}};
  EXPECT_EQ(work_on(snapshot), "gpu3 is used by python3 (42)");
}

TEST(StandingTextTest, GivesEachReasonOnce) {
  const Order order{.nodes = {{.name = "n1"}, {.name = "n2"}, {.name = "n3"}}};
  Actions actions{.breakers = {{Stage::check, "gpu.present", "", {"n1"}, 3}},
                  .standings = {{.verdict = NodeVerdict::rejected, .why = "slow"},
                                {.verdict = NodeVerdict::rejected, .why = "slow"},
                                {.stage = Stage::soak, .running = true}}};
  const auto text = standing_text(order, actions);
  EXPECT_THAT(text, HasSubstr("3 nodes: 1 pending, 2 rejected"));
  EXPECT_THAT(text, HasSubstr("n[1-2]: slow"));
  EXPECT_THAT(text, HasSubstr("--go-on gpu.present"));
  EXPECT_THAT(text, HasSubstr("n3: in stage soak"));
  EXPECT_THAT(progress_line(order, actions), HasSubstr("running: soak 1"));
}

TEST(PlanTextTest, LeavesOutGroupStagesOfOneNode) {
  EXPECT_THAT(plan_text(Plan{}, 1), Not(HasSubstr("fabric")));
  EXPECT_THAT(plan_text(Plan{}, 2), HasSubstr("fabric"));
  EXPECT_THAT(plan_text(Plan{}, 128), HasSubstr("node-hours without retests\n"));
}

TEST(PlanTextTest, SaysTheCostIfThePriceIsKnown) {
  Plan plan{.node_hour_price = 2.5};
  EXPECT_THAT(plan_text(plan, 128),
              HasSubstr("3294 node-hours without retests, which cost 8235\n"));
  EXPECT_TRUE(check_plan(plan));
  plan.node_hour_price = -1;
  EXPECT_THAT(check_plan(plan).error().message, HasSubstr("node_hour_price: invalid price -1"));
}

}  // namespace
}  // namespace muster::accept
