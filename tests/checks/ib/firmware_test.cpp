// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/ib.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_firmware_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Findings judge(const Snapshot& snapshot, const Profile& profile = ib_node::profile()) {
  return ask(checks::ib_firmware::check, snapshot, profile);
}

Expected warned(std::string observed, std::string limit) {
  return {.device = "mlx5_ib2",
          .outcome = Outcome::warn,
          .observed = std::move(observed),
          .limit = std::move(limit),
          .remedy = Remedy::fix_config};
}

TEST(IbFirmwareTest, PassesWhenAllAreTheSame) {
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(passes()));
}

TEST(IbFirmwareTest, WarnsOfTheOddFirmware) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 2).firmware = std::string("28.33.1000");
  EXPECT_THAT(judge(node), ElementsAre(warned("28.33.1000", "28.35.2000")));
}

TEST(IbFirmwareTest, WarnsOnceOfAnotherBoardWithItsOwnFirmware) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 2).board = std::string("MT_0000000999");
  ib_node::hca_of(node, 2).firmware = std::string("26.1.1");
  EXPECT_THAT(judge(node), ElementsAre(warned("MT_0000000999", "MT_0000000838")));
}

TEST(IbFirmwareTest, WarnsAboutTheNodeWithoutAMajority) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 2).firmware = std::string("28.33.1000");
  ib_node::hca_of(node, 3).firmware = std::string("28.33.1000");
  EXPECT_THAT(judge(node), ElementsAre(warns("node", Remedy::fix_config)));
}

TEST(IbFirmwareTest, AcceptsFirmwareThatTheProfileAllows) {
  Profile profile = ib_node::profile();
  profile.ib->firmware = {.allowed = {{"MT_0000000838", {"28.35.*"}}}, .same = false};
  EXPECT_THAT(judge(ib_node::node(), profile),
              ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbFirmwareTest, WarnsOfFirmwareThatIsNotAllowedForTheBoard) {
  Profile profile = ib_node::profile();
  profile.ib->firmware = {.allowed = {{"MT_0000000838", {"28.35.*", "28.37.*"}}}, .same = false};
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 2).firmware = std::string("28.33.1000");
  EXPECT_THAT(judge(node, profile), ElementsAre(warned("28.33.1000", "28.35.*, 28.37.*")));
}

TEST(IbFirmwareTest, DoesNotKnowAnUnreadableVersion) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 2).firmware = Fact<std::string>::unreadable("read fw_ver: empty");
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib2")));
}

TEST(IbFirmwareTest, DoesNotKnowTheOneHcaWithoutABoardId) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 2).board = Fact<std::string>::absent("read board_id: no such file");
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib2")));
}

TEST(IbFirmwareTest, ComparesFirmwareWithoutBoardIds) {
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) {
    ib_node::hca_of(node, i).board = Fact<std::string>::absent("read board_id: no such file");
  }
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

}  // namespace
}  // namespace muster::ib_firmware_test
