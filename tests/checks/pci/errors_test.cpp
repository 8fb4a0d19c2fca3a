// SPDX-License-Identifier: Apache-2.0

#include "lib/state/counters.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/pci/bus_fixture.hpp"

namespace muster::pci_errors_test {
namespace {

Profile limits() {
  Profile profile = one_gpu_and_hca();
  profile.pci->errors = {.correctable_warn_above_per_hour = 100, .window = Seconds{24 * kHour}};
  return profile;
}

Findings judged(const Snapshot& snapshot) {
  return ask(checks::pci_errors::check, snapshot, limits());
}

// Seen an hour ago with every counter as it is now.
Snapshot seen_before() {
  Snapshot node = small_node();
  node.earlier.last_uptime_s = kHour;
  for (const auto& [key, value] : counters_of(node)) {
    node.earlier.counters[key] = {{.uptime_s = kHour, .value = value}};
  }
  return node;
}

TEST(PciErrorsTest, JudgesOneChange) {
  expect_findings(checks::pci_errors::check, seen_before(), limits(),
                  {
                      {"passes when no counter moved", [](Snapshot&) {}, {passes()}},
                      {"fails the worst uncorrected error once",
                       [](Snapshot& node) {
                         node.pci.facts.devices[kGpu].aer =
                             AerCounts{.fatal = 1, .non_fatal = 2, .correctable = 5000};
                         node.pci.facts.devices[kHca].aer = AerCounts{.non_fatal = 2};
                       },
                       {fails("0000:02:00.0", Remedy::reseat_or_replace,
                              {std::int64_t{1}, std::int64_t{0}, "errors"}),
                        fails("0000:03:00.0", Remedy::reseat_or_replace,
                              {std::int64_t{2}, std::int64_t{0}, "errors"})}},
                      {"counters that cannot be read are unknown",
                       [](Snapshot& node) {
                         node.pci.facts.devices[kHca].aer = Fact<AerCounts>::unreadable("no total");
                       },
                       {unknown("0000:03:00.0")}},
                      {"asks nothing of the virtual functions of a host",
                       [](Snapshot& node) {
                         auto part = pci_device("0000:03:00.2", PciKind::hca);
                         part.virtual_function = true;
                         part.aer = Fact<AerCounts>::absent("no AER");
                         node.pci.facts.devices.push_back(part);
                       },
                       {passes()}},
                  });
}

TEST(PciErrorsTest, AFirstObservationHasNoRate) {
  EXPECT_THAT(judged(small_node()), Each(is(Outcome::skip)));
}

TEST(PciErrorsTest, WarnsOfCorrectedErrorsAboveTheRate) {
  auto node = seen_before();
  node.pci.facts.devices[kSwitch].aer = AerCounts{.correctable = 100};
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
  node.pci.facts.devices[kSwitch].aer = AerCounts{.correctable = 101};
  EXPECT_THAT(judged(node),
              ElementsAre(warns("0000:01:00.0", Remedy::watch, {101.0, 100.0, "errors/h"})));
}

TEST(PciErrorsTest, TheRateIsThatOfTheTimeSinceTheLastRun) {
  auto node = seen_before();
  node.identity.facts.uptime_s = 49 * kHour;
  node.pci.facts.devices[kSwitch].aer = AerCounts{.correctable = 4800};
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
  node.pci.facts.devices[kSwitch].aer = AerCounts{.correctable = 4801};
  EXPECT_EQ(judged(node).front().outcome, Outcome::warn);
}

TEST(PciErrorsTest, WarnsAboutErrorsInAnHcasRegister) {
  auto node = seen_before();
  auto& hca = node.pci.facts.devices[kHca];
  hca.uncorrectable_status =
      1U << 20U;  // an unsupported request, as looking for devices makes them
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
  hca.uncorrectable_status = 1U << 18U | 1U << 22U;
  EXPECT_THAT(judged(node),
              ElementsAre(warns("0000:03:00.0", Remedy::watch, {std::int64_t{0x440000}})));
  hca.uncorrectable_status = 0xffffffffU;
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
}

TEST(PciErrorsTest, ErrorsBeforeTheWindowDoNotCount) {
  auto node = seen_before();
  node.identity.facts.uptime_s = 30 * kHour;
  node.earlier.last_uptime_s = 29 * kHour;
  node.pci.facts.devices[kGpu].aer = AerCounts{.fatal = 1};
  node.earlier.counters["pci.0000:02:00.0.fatal"].push_back({.uptime_s = 2 * kHour, .value = 1});
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
}

TEST(PciErrorsTest, WithoutCountersAGuestSkipsAndBareMetalIsUnknown) {
  EXPECT_THAT(judged(small_guest()), ElementsAre(skips()));
  auto node = seen_before();
  node.pci.facts.devices[kGpu].aer = Fact<AerCounts>::absent("no AER");
  EXPECT_EQ(judged(node).front(), (unknown("0000:02:00.0")));
}

TEST(PciErrorsTest, IsUnknownWithoutUptime) {
  auto node = seen_before();
  node.identity.facts.uptime_s = Fact<double>::unreadable("read /proc/uptime: empty");
  EXPECT_EQ(judged(node).front().outcome, Outcome::unknown);
}

}  // namespace
}  // namespace muster::pci_errors_test
