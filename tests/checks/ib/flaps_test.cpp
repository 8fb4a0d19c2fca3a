// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"

namespace muster::ib_flaps_test {
namespace {

constexpr auto kKey = "ib.mlx5_ib1.1.link_downed";
constexpr auto kInterfaceKey = "net.ib1.carrier_down_count";

constexpr AskedCheck judge{checks::ib_flaps::check, ib_node::profile};

Fact<std::uint64_t>& counter(Snapshot& node) {
  return port_of(node, 1).counters->at("link_downed");
}

Expected flapped(std::int64_t times) {
  return fails("mlx5_ib1", Remedy::report_to_provider, {times, 4});
}

KernelRecord link_down(double uptime_s, unsigned facility = 0) {
  return {.time_us = static_cast<std::uint64_t>(uptime_s * 1e6),
          .level = 4,
          .facility = facility,
          .text = "mlx5_core 0102:00:00.0 mlx5_ib1: Port: 1 Link DOWN"};
}

// Five lines of the kernel about mlx5_ib1.
void log_flaps(Snapshot& node, double from_s, double apart_s = 600, unsigned facility = 0) {
  for (int i = 0; i < 5; ++i) {
    node.kernel_log->records.push_back(link_down(from_s + i * apart_s, facility));
  }
}

TEST(IbFlapsTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"allows the number in the profile",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 0);
         counter(node) = 4U;
       },
       {passes()}},
      {"fails a link that went down too often",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 0);
         counter(node) = 5U;
       },
       {flapped(5)}},
      {"believes the ports counter more than its interface",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 0);
         ib_node::seen_before(node, kInterfaceKey, 1);
         node.network->interfaces.at(1).carrier_down_count = 10U;
       },
       {passes()}},
      {"believes the interface where the counter is refused",
       [](Snapshot& node) {
         hca_of(node, 1).virtual_function = true;
         counter(node) = absent();
         ib_node::seen_before(node, kInterfaceKey, 1);
       },
       {passes()}},
      {"counts the kernels own lines even on a first run",
       [](Snapshot& node) { log_flaps(node, 50000); },
       {flapped(5)}},
      {"ignores lines that user space wrote",
       [](Snapshot& node) { log_flaps(node, 50000, 600, 1); },
       {skips()}},
      {"ignores events soon after boot",
       [](Snapshot& node) { log_flaps(node, 60, 60); },
       {skips()}},
      {"warns of a counter that rose to its end",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 240);
         ib_node::seen_before(node, kInterfaceKey, 1);
         node.network->interfaces.at(1).carrier_down_count = 16U;
         counter(node) = 255U;
       },
       {warns("mlx5_ib1", Remedy::watch, {255})}},
      {"fails by the kernel's lines although the counter is saturated",
       [](Snapshot& node) {
         counter(node) = 255U;
         log_flaps(node, 50000);
       },
       {flapped(5)}},
      {"does not know an unreadable counter",
       [](Snapshot& node) { counter(node) = unreadable(); },
       {unknown("mlx5_ib1")}},
      {"does not know counters that cannot be listed",
       [](Snapshot& node) { port_of(node, 1).counters = unreadable(); },
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
  counter(node) = 4U;
  EXPECT_THAT(judge(node, profile), ElementsAre(is(Outcome::pass)));
  counter(node) = 5U;
  EXPECT_THAT(judge(node, profile), ElementsAre(flapped(5)));
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
  counter(node) = 12U;
  EXPECT_THAT(judge(node), ElementsAre(is(Outcome::pass)));
  counter(node) = 13U;
  EXPECT_THAT(judge(node), ElementsAre(flapped(13)));
}

// The kernel's lines have their times.
TEST(IbFlapsTest, AfterALongTimeTheKernelLogShowsRecentFlaps) {
  Snapshot node = seldom_inspected();
  counter(node) = 5U;
  log_flaps(node, 4 * ib_node::kUptime - 3600);
  EXPECT_THAT(judge(node), ElementsAre(flapped(5)));
}

// Some drivers write the address alone.
TEST(IbFlapsTest, KnowsAnAdapterByItsAddress) {
  Snapshot node = ib_node::node();
  log_flaps(node, 50000);
  for (auto& record : node.kernel_log->records) {
    record.text = "mlx5_core 0102:00:00.0: Port: 1 Link DOWN";
  }
  EXPECT_THAT(judge(node), ElementsAre(is(Outcome::fail, "mlx5_ib1")));
}

}  // namespace
}  // namespace muster::ib_flaps_test
