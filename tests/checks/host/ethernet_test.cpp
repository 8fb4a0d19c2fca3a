// SPDX-License-Identifier: Apache-2.0
// host.ethernet judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_ethernet_test {
namespace {

using ::testing::ElementsAre;

const Interface kUp{.name = "eth0",
                    .operstate = std::string("up"),
                    .carrier = true,
                    .speed_mbps = std::uint64_t{100000}};
const EthernetInterface kAnySpeed{.name = "eth0"};
const EthernetInterface kHundred{.name = "eth0", .speed = BitsPerSecond{100e9}};

Findings judge(std::vector<Interface> interfaces, std::vector<EthernetInterface> expected) {
  return ask(checks::host_ethernet::check,
             {.network = observed(Network{.interfaces = std::move(interfaces)})},
             {.host = HostLimits{.ethernet = {.interfaces = std::move(expected)}}});
}

const Expected kOneUp{.device = "node", .outcome = Outcome::pass};

Expected down(std::string state) {
  return {.device = "eth0",
          .outcome = Outcome::fail,
          .observed = std::move(state),
          .limit = "up",
          .remedy = Remedy::fix_config};
}

TEST(HostEthernetTest, PassesAtTheExpectedSpeed) {
  EXPECT_THAT(judge({kUp}, {kHundred}), ElementsAre(kOneUp));
}

TEST(HostEthernetTest, FailsAMissingInterface) {
  EXPECT_THAT(judge({kUp}, {{.name = "eth1"}}),
              ElementsAre(fails("eth1", Remedy::fix_config, {false, true})));
}

TEST(HostEthernetTest, FailsAnInterfaceThatIsDownWithoutJudgingItsSpeed) {
  Interface eth0 = kUp;
  eth0.operstate = std::string("down");
  eth0.carrier = false;
  eth0.speed_mbps = Fact<std::uint64_t>::unreadable("speed: Invalid argument");
  EXPECT_THAT(judge({eth0}, {kHundred}), ElementsAre(down("down")));
}

TEST(HostEthernetTest, FailsAnInterfaceWhoseCarrierCannotBeReadBecauseItIsDown) {
  Interface eth0 = kUp;
  eth0.operstate = std::string("down");
  eth0.carrier = Fact<bool>::unreadable("carrier: Invalid argument");
  EXPECT_THAT(judge({eth0}, {kAnySpeed}), ElementsAre(down("down")));
}

TEST(HostEthernetTest, ACarrierCountsAsUp) {
  Interface eth0 = kUp;
  eth0.operstate = std::string("unknown");
  EXPECT_THAT(judge({eth0}, {kAnySpeed}), ElementsAre(kOneUp));
}

TEST(HostEthernetTest, FailsASlowInterface) {
  Interface eth0 = kUp;
  eth0.speed_mbps = std::uint64_t{40000};
  EXPECT_THAT(judge({eth0}, {kHundred}),
              ElementsAre(fails("eth0", Remedy::fix_config, {40.0, 100.0, "Gb/s"})));
}

TEST(HostEthernetTest, FindsAnInterfaceByItsVerbsName) {
  Interface renamed = kUp;
  renamed.name = "enP1s0";
  renamed.hca = "mlx5_an0";
  EXPECT_THAT(judge({renamed}, {{.name = "mlx5_an*"}}), ElementsAre(kOneUp));
}

TEST(HostEthernetTest, IsUnknownForAMissingSpeed) {
  Interface eth0 = kUp;
  eth0.speed_mbps = Fact<std::uint64_t>::absent("the driver knows no speed");
  EXPECT_THAT(judge({eth0}, {kAnySpeed}), ElementsAre(kOneUp));
  EXPECT_THAT(judge({eth0}, {kHundred}), ElementsAre(unknown("eth0")));
}

TEST(HostEthernetTest, IsUndecidedWhereNeitherStateCouldBeRead) {
  Interface eth0 = kUp;
  eth0.operstate = Fact<std::string>::unreadable("operstate: empty");
  eth0.carrier = Fact<bool>::unreadable("carrier: Invalid argument");
  EXPECT_THAT(judge({eth0}, {kAnySpeed}), ElementsAre(unknown("eth0")));
}

TEST(HostEthernetTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge({kUp}, {}), ElementsAre(skips()));
}

TEST(HostEthernetTest, FindsTheInterfaceOfAnEthernetRdmaDeviceUnderAnyName) {
  Interface renamed = kUp;
  renamed.name = "enP1s0";
  renamed.type = 1U;
  renamed.hca = "mlx5_8";
  EXPECT_THAT(judge({renamed}, {{.name = "mlx5_an*", .rdma = true}}), ElementsAre(kOneUp));
}

TEST(HostEthernetTest, TakesNoInfinibandInterfaceForAnEthernetOne) {
  Interface infiniband = kUp;
  infiniband.name = "ib0";
  infiniband.type = 32U;
  infiniband.hca = "mlx5_0";
  EXPECT_THAT(judge({infiniband}, {{.name = "mlx5_an*", .rdma = true}}),
              ElementsAre(fails("mlx5_an*", Remedy::fix_config, {false, true})));
}

}  // namespace
}  // namespace muster::host_ethernet_test
