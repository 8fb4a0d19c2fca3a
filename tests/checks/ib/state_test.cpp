// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_state_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

Findings judge(const Snapshot& snapshot, const Profile& profile = ib_node::profile()) {
  return ask(checks::ib_state::check, snapshot, profile);
}

Expected failed(std::string device, std::string state, Remedy remedy) {
  return {.device = std::move(device),
          .outcome = Outcome::fail,
          .observed = std::move(state),
          .limit = std::string("ACTIVE"),
          .remedy = remedy};
}

TEST(IbStateTest, PassesWhenEveryPortIsActiveAndUp) {
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(passes()));
}

TEST(IbStateTest, JudgesWithoutAnyExpectationToo) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).state = 1U;
  EXPECT_THAT(judge(node, ib_node::no_expectations()),
              ElementsAre(Field(&Finding::outcome, Outcome::fail)));
}

TEST(IbStateTest, FailsAPollingPort) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).state = 1U;
  ib_node::port_of(node, 1).physical_state = 2U;
  EXPECT_THAT(judge(node), ElementsAre(failed("mlx5_ib1", "DOWN", Remedy::report_to_provider)));
}

TEST(IbStateTest, ADisabledPortIsAConfigurationFault) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).state = 1U;
  ib_node::port_of(node, 1).physical_state = 3U;
  EXPECT_THAT(judge(node), ElementsAre(failed("mlx5_ib1", "DOWN", Remedy::fix_config)));
}

TEST(IbStateTest, InitIsAFaultOfTheFabric) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 0).state = 2U;
  EXPECT_THAT(judge(node), ElementsAre(failed("mlx5_ib0", "INIT", Remedy::report_to_provider)));
}

TEST(IbStateTest, CallsArmedTransient) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 0).state = 3U;
  EXPECT_THAT(judge(node), ElementsAre(AllOf(Field(&Finding::outcome, Outcome::fail),
                                             Field(&Finding::remedy, Remedy::watch))));
}

TEST(IbStateTest, FailsAnActivePortThatIsRetraining) {
  Snapshot node = ib_node::node();
  node.identity->hypervisor = false;
  ib_node::port_of(node, 0).physical_state = 6U;
  EXPECT_THAT(judge(node),
              ElementsAre(fails("mlx5_ib0", Remedy::reseat_or_replace,
                                {std::string("LinkErrorRecovery"), std::string("LinkUp")})));
}

TEST(IbStateTest, NamesThePortWhereItIsNotTheFirst) {
  Snapshot node = ib_node::node();
  IbPort second = ib_node::port();
  second.number = 2;
  second.state = 1U;
  ib_node::hca_of(node, 0).ports->push_back(second);
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::device, "mlx5_ib0")));
}

TEST(IbStateTest, DoesNotKnowAnUnreadableState) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 0).state = Fact<unsigned>::unreadable("read state: empty");
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib0")));
}

TEST(IbStateTest, DoesNotKnowAPortWhoseLinkLayerCannotBeRead) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 0).link_layer.clear();
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib0")));
}

TEST(IbStateTest, DoesNotKnowAnHcaWithoutReadablePorts) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 0).ports = Fact<std::vector<IbPort>>::absent("no such file");
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::unknown)));
}

TEST(IbStateTest, IgnoresEthernet) {
  Snapshot node = ib_node::node();
  Hca an = ib_node::ethernet_hca();
  an.ports->front().state = 1U;
  node.infiniband->hcas.push_back(an);
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbStateTest, SkipsWhenTheHcasAreGone) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.clear();
  EXPECT_THAT(judge(node), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::ib_state_test
