// SPDX-License-Identifier: Apache-2.0
// How peers reach an ACTIVE port.
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"

namespace muster::ib_addressing_test {
namespace {

constexpr AskedCheck judge_address{checks::ib_address::check, ib_node::profile};

Expected failed_address(const std::string& message) {
  return fails("mlx5_ib1", Remedy::report_to_provider, {message});
}

TEST(IbAddressTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"fails the permissive LID",
       [](Snapshot& node) { port_of(node, 1).lid = 0xffffU; },
       {failed_address("LID 0xffff: not assigned")}},
      {"fails a multicast LID",
       [](Snapshot& node) { port_of(node, 1).lid = 0xc000U; },
       {failed_address("LID 0xc000 is a multicast address")}},
      {"reports all faults of one port together",
       [](Snapshot& node) {
         port_of(node, 1).lid = 0U;
         port_of(node, 1).sm_lid = 0U;
       },
       {failed_address("LID 0x0: not assigned")}},
      {"fails an empty GID",
       [](Snapshot& node) { port_of(node, 1).gid0 = "0000:0000:0000:0000:0000:0000:0000:0000"s; },
       {failed_address("GID 0 is empty")}},
      {"leaves a port that is not active to ib.state",
       [](Snapshot& node) {
         port_of(node, 1).state = 2U;
         port_of(node, 1).lid = 0U;
       },
       {passes()}},
      {"does not know an unreadable LID",
       [](Snapshot& node) { port_of(node, 1).lid = unreadable(); },
       {unknown("mlx5_ib1")}},
  };
  expect_findings(judge_address, ib_node::node(), changes);
}

TEST(IbAddressTest, AcceptsOneSubnetPerRailIfTheProfileAllowsIt) {
  Profile profile = ib_node::profile();
  profile.ib->address.same_prefix = false;
  Snapshot node = ib_node::node();
  port_of(node, 1).gid0 = "fec0:0000:0000:0001:0015:5dff:fe33:ff00"s;
  EXPECT_THAT(judge_address(node, profile), ElementsAre(is(Outcome::pass)));
}

Findings judge_pkey(const Snapshot& snapshot,
                    PkeyWanted require = PkeyWanted::non_default_full_member) {
  Profile profile = ib_node::profile();
  profile.ib->pkey.require = require;
  return ask(checks::ib_pkey::check, snapshot, profile);
}

void set_keys(Snapshot& node, unsigned index, std::vector<unsigned> keys) {
  port_of(node, index).pkeys = std::move(keys);
}

Expected failed_pkey(std::string observed) {
  return fails("mlx5_ib1", Remedy::report_to_provider, {std::move(observed)});
}

TEST(IbPkeyTest, JudgesKeys) {
  const std::vector<NodeChange> changes{
      {"finds the key at index one too",
       [](Snapshot& node) {
         set_keys(node, 1, {0x7fff, 0x8015});
       },
       {passes()}},
      {"ignores keys beyond index one",
       [](Snapshot& node) {
         set_keys(node, 1, {0x7fff, 0, 0x8015});
       },
       {failed_pkey("0x7fff, 0x0000")}},
      {"fails two keys of tenants",
       [](Snapshot& node) {
         set_keys(node, 1, {0x8015, 0x8021});
       },
       {failed_pkey("0x8015, 0x8021")}},
      {"does not know unreadable keys",
       [](Snapshot& node) { port_of(node, 1).pkeys = unreadable(); },
       {unknown("mlx5_ib1")}},
  };
  expect_findings([](const Snapshot& node) { return judge_pkey(node); }, ib_node::node(), changes);
}

TEST(IbPkeyTest, AcceptsTheDefaultPartitionIfTheProfileAsksForIt) {
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) set_keys(node, i, {0xffff});
  EXPECT_THAT(judge_pkey(node, PkeyWanted::default_full_member), ElementsAre(passes()));
  EXPECT_THAT(judge_pkey(node), Contains(is(Outcome::fail)));
}

TEST(IbPkeyTest, FailsAnEmptyTableForAnyRequirement) {
  Snapshot node = ib_node::node();
  set_keys(node, 1, {});
  for (const auto require : {PkeyWanted::any_full_member, PkeyWanted::default_full_member}) {
    EXPECT_THAT(judge_pkey(node, require), Contains(is(Outcome::fail, "mlx5_ib1")));
  }
}

constexpr AskedCheck judge_mtu{checks::ib_mtu::check, ib_node::profile};

TEST(IbMtuTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"warns of a smaller MTU",
       [](Snapshot& node) { (*node.verbs->devices.at(1).ports).at(0).active_mtu_bytes = 2048; },
       {warns("mlx5_ib1", Remedy::fix_config, {2048, 4096, "B"})}},
      {"does not know an MTU without meaning",
       [](Snapshot& node) { (*node.verbs->devices.at(1).ports).at(0).active_mtu_bytes = 0; },
       {finds(Outcome::unknown, "mlx5_ib1", Remedy::none, {0, 4096, "B"})}},
      {"skips with the reason where verbs cannot be asked",
       [](Snapshot& node) { node.verbs = {.status = Status::absent, .reason = "a foreign root"}; },
       {skips()}},
      {"leaves devices that verbs do not open to ib.verbs",
       [](Snapshot& node) { node.verbs->devices.clear(); },
       {skips()}},
  };
  expect_findings(judge_mtu, ib_node::node(), changes);
}

TEST(IbMtuTest, SkipsIfNoMtuIsExpected) {
  EXPECT_THAT(judge_mtu(ib_node::node(), Profile{}), ElementsAre(skips()));
}

constexpr AskedCheck judge_netdev{checks::ib_netdev::check, ib_node::profile};

TEST(IbNetdevTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"leaves a port that is down to ib.state",
       [](Snapshot& node) {
         node.network->interfaces.at(1).operstate = "down"s;
         port_of(node, 1).state = 1U;
       },
       {passes()}},
      {"does not know without the list of interfaces",
       [](Snapshot& node) {
         node.network = {.status = Status::absent, .reason = "no /sys/class/net"};
       },
       {unknown()}},
      {"does not know an unreadable state",
       [](Snapshot& node) { node.network->interfaces.at(1).operstate = unreadable(); },
       {unknown("mlx5_ib1")}},
  };
  expect_findings(judge_netdev, ib_node::node(), changes);
}

TEST(IbNetdevTest, GoesByTheCarrierIfTheDriverKeepsNoState) {
  Snapshot node = ib_node::node();
  node.network->interfaces.at(1).operstate = "unknown"s;
  EXPECT_THAT(judge_netdev(node), ElementsAre(is(Outcome::pass)));
  node.network->interfaces.at(1).carrier = false;
  EXPECT_THAT(judge_netdev(node), ElementsAre(is(Outcome::warn)));
}

}  // namespace
}  // namespace muster::ib_addressing_test
