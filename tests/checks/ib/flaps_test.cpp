// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"

namespace muster::ib_flaps_test {
namespace {

constexpr auto kKey = "ib.mlx5_ib1.1.link_downed";
constexpr auto kInterfaceKey = "net.ib1.carrier_down_count";

constexpr AskedCheck judge{checks::ib_flaps::check, ib_node::profile};

Fact<std::uint64_t>& counter(Snapshot& node) { return port_of(node, 1).counters.at("link_downed"); }

Expected flapped(std::int64_t times) {
  return fails("mlx5_ib1", Remedy::report_to_provider, {times, 4});
}

KernelRecord link_down(double uptime_s, unsigned facility = 0) {
  return {.time_us = static_cast<std::uint64_t>(uptime_s * 1e6),
          .level = 4,
          .facility = facility,
          .text = "mlx5_core 0102:00:00.0 mlx5_ib1: Port: 1 Link DOWN"};
}

TEST(IbFlapsTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"passes a link that stayed up",
       [](Snapshot& node) { ib_node::seen_before(node, kKey, 0); },
       {passes()}},
      {"allows the number in the profile",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 0);
         counter(node) = std::uint64_t{4};
       },
       {passes()}},
      {"fails a link that went down too often",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 0);
         counter(node) = std::uint64_t{5};
       },
       {flapped(5)}},
      {"believes the ports counter more than its interface",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 0);
         ib_node::seen_before(node, kInterfaceKey, 1);
         node.network->interfaces.at(1).carrier_down_count = std::uint64_t{10};
       },
       {passes()}},
      {"believes the interface where the counter is refused",
       [](Snapshot& node) {
         hca_of(node, 1).virtual_function = true;
         counter(node) = Fact<std::uint64_t>::absent("refused to a virtual function");
         ib_node::seen_before(node, kInterfaceKey, 1);
       },
       {passes()}},
      {"counts the kernels own lines even on a first run",
       [](Snapshot& node) {
         for (int i = 0; i < 5; ++i) node.kernel_log->records.push_back(link_down(50000 + i * 600));
       },
       {flapped(5)}},
      {"ignores lines that user space wrote",
       [](Snapshot& node) {
         for (int i = 0; i < 5; ++i)
           node.kernel_log->records.push_back(link_down(50000 + i * 600, 1));
       },
       {skips()}},
      {"ignores events soon after boot",
       [](Snapshot& node) {
         for (int i = 0; i < 5; ++i) node.kernel_log->records.push_back(link_down(60 + i * 60));
       },
       {skips()}},
      {"leaves a port that is down now to ib.state",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 0);
         counter(node) = std::uint64_t{9};
         port_of(node, 1).state = 1U;
       },
       {skips()}},
      {"warns of a counter that is saturated still",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 255);
         counter(node) = std::uint64_t{255};
       },
       {warns("mlx5_ib1", Remedy::watch, {255})}},
      {"warns of a counter that rose to its end",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 240);
         ib_node::seen_before(node, kInterfaceKey, 1);
         node.network->interfaces.at(1).carrier_down_count = std::uint64_t{16};
         counter(node) = std::uint64_t{255};
       },
       {warns("mlx5_ib1", Remedy::watch, {255})}},
      {"fails by the kernel's lines although the counter is saturated",
       [](Snapshot& node) {
         counter(node) = std::uint64_t{255};
         for (int i = 0; i < 5; ++i) node.kernel_log->records.push_back(link_down(50000 + i * 600));
       },
       {flapped(5)}},
      {"does not know an unreadable counter",
       [](Snapshot& node) {
         counter(node) = Fact<std::uint64_t>::unreadable("read link_downed: empty");
       },
       {unknown("mlx5_ib1")}},
      {"skips the first observation", [](Snapshot&) {}, {skips()}},
  };
  expect_findings(judge, ib_node::node(), changes);
}

TEST(IbFlapsTest, AWindowMayBeShorterThanAnHour) {
  Profile profile = ib_node::profile();
  profile.ib->flaps.window = Seconds{1800};
  Snapshot node = ib_node::node();
  node.earlier.last_uptime_s = ib_node::kUptime - 600;
  node.earlier.counters[kKey] = {{.uptime_s = ib_node::kUptime - 600, .value = 0}};
  counter(node) = std::uint64_t{4};
  EXPECT_THAT(judge(node, profile), ElementsAre(is(Outcome::pass)));
  counter(node) = std::uint64_t{5};
  EXPECT_THAT(judge(node, profile),
              ElementsAre(fails("mlx5_ib1", Remedy::report_to_provider, {5, 4})));
}

// A node whose last run was three days ago.
Snapshot seldom_inspected() {
  Snapshot node = ib_node::node();
  node.identity.facts.uptime_s = 4 * ib_node::kUptime;
  node.earlier.last_uptime_s = ib_node::kUptime;
  node.earlier.counters[kKey] = {{.uptime_s = ib_node::kUptime, .value = 0}};
  return node;
}

// The time of an increment between two runs is unknown.
TEST(IbFlapsTest, JudgesARiseSinceALongTimeByThatTime) {
  Snapshot node = seldom_inspected();
  counter(node) = std::uint64_t{12};
  EXPECT_THAT(judge(node), ElementsAre(is(Outcome::pass)));
  counter(node) = std::uint64_t{13};
  EXPECT_THAT(judge(node), ElementsAre(fails("mlx5_ib1", Remedy::report_to_provider, {13, 4})));
}

// The kernel's lines have their times.
TEST(IbFlapsTest, AfterALongTimeTheKernelLogShowsRecentFlaps) {
  Snapshot node = seldom_inspected();
  counter(node) = std::uint64_t{5};
  for (int i = 0; i < 5; ++i) {
    node.kernel_log->records.push_back(link_down(4 * ib_node::kUptime - 3600 + i * 600));
  }
  EXPECT_THAT(judge(node), ElementsAre(flapped(5)));
}

// Some drivers write the address alone.
TEST(IbFlapsTest, KnowsAnAdapterByItsAddress) {
  Snapshot node = ib_node::node();
  for (int i = 0; i < 5; ++i) {
    node.kernel_log->records.push_back(link_down(50000 + i * 600));
    node.kernel_log->records.back().text = "mlx5_core 0102:00:00.0: Port: 1 Link DOWN";
  }
  EXPECT_THAT(judge(node), ElementsAre(is(Outcome::fail, "mlx5_ib1")));
}

}  // namespace
}  // namespace muster::ib_flaps_test
