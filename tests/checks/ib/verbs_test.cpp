// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_verbs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Findings judge(const Snapshot& snapshot) {
  return ask(checks::ib_verbs::check, snapshot, ib_node::profile());
}

Expected failed(std::string device, Remedy remedy = Remedy::fix_config) {
  return {.device = std::move(device), .outcome = Outcome::fail, .remedy = remedy};
}

TEST(IbVerbsTest, PassesWhenEveryHcaOpensAndAgrees) {
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(passes()));
}

TEST(IbVerbsTest, FailsAnHcaThatTheLibraryDoesNotList) {
  Snapshot node = ib_node::node();
  node.verbs->devices.erase(node.verbs->devices.begin() + 1);
  EXPECT_THAT(judge(node), ElementsAre(failed("mlx5_ib1")));
}

TEST(IbVerbsTest, FailsOnceWhenTheLibraryListsNone) {
  Snapshot node = ib_node::node();
  node.verbs->devices.clear();
  EXPECT_THAT(judge(node), ElementsAre(failed("node")));
}

TEST(IbVerbsTest, FailsAnHcaThatDoesNotOpen) {
  Snapshot node = ib_node::node();
  node.verbs->devices.at(1).ports =
      Fact<std::vector<VerbsPort>>::unreadable("open mlx5_ib1: Permission denied");
  node.verbs->devices.at(1).registers = Fact<bool>::unreadable("open mlx5_ib1: Permission denied");
  EXPECT_THAT(judge(node), ElementsAre(failed("mlx5_ib1")));
}

TEST(IbVerbsTest, FailsAPortThatVerbsAndSysfsDescribeDifferently) {
  Snapshot node = ib_node::node();
  (*node.verbs->devices.at(1).ports).at(0).width = 2;
  (*node.verbs->devices.at(1).ports).at(0).lid = 7;
  EXPECT_THAT(judge(node), ElementsAre(failed("mlx5_ib1", Remedy::reboot)));
}

TEST(IbVerbsTest, LeavesAPortThatIsDownToIbState) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).state = 1U;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbVerbsTest, FailsAnHcaThatRegistersNoMemory) {
  Snapshot node = ib_node::node();
  node.verbs->devices.at(1).registers =
      Fact<bool>::unreadable("register memory on mlx5_ib1: Cannot allocate memory");
  EXPECT_THAT(judge(node), ElementsAre(failed("mlx5_ib1")));
}

TEST(IbVerbsTest, LeavesALowLimitOfLockedMemoryToHostLimits) {
  Snapshot node = ib_node::node();
  node.kernel = observed(Kernel{.limits = {.memlock_bytes = std::string("65536")}});
  node.verbs->devices.at(1).registers =
      Fact<bool>::unreadable("register memory on mlx5_ib1: Cannot allocate memory");
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbVerbsTest, SkipsBelowAForeignRoot) {
  Snapshot node = ib_node::node();
  node.identity->foreign_root = true;
  node.verbs = {.status = Status::absent, .reason = "a foreign root"};
  EXPECT_THAT(judge(node), ElementsAre(skips()));
}

TEST(IbVerbsTest, FailsOnceOnALiveNodeWithoutTheKernelsInterface) {
  Snapshot node = ib_node::node();
  node.verbs = {.status = Status::absent, .reason = "ib_uverbs is not loaded"};
  EXPECT_THAT(judge(node), ElementsAre(failed("node", Remedy::restart_service)));
}

}  // namespace
}  // namespace muster::ib_verbs_test
