// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/base/units.hpp"
#include "lib/profile/limits/pci.hpp"
#include "lib/state/counters.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/pci/bus_fixture.hpp"

namespace muster::pci_errors_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;

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

TEST(PciErrorsTest, PassesWhenNoCounterMoved) {
  EXPECT_THAT(judged(seen_before()),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "no PCIe errors above limits at 4 devices"}));
}

TEST(PciErrorsTest, AFirstObservationHasNoRate) {
  EXPECT_THAT(judged(small_node()), Each(Field("outcome", &Finding::outcome, Outcome::skip)));
}

TEST(PciErrorsTest, FailsUncorrectedErrorsAndSaysTheWorstOnce) {
  auto node = seen_before();
  node.pci.facts.devices[kGpu].aer = AerCounts{.fatal = 1, .non_fatal = 2, .correctable = 5000};
  node.pci.facts.devices[kHca].aer = AerCounts{.non_fatal = 2};
  EXPECT_THAT(
      judged(node),
      ElementsAre(
          Finding{.device = "0000:02:00.0",
                  .outcome = Outcome::fail,
                  .message = "1 fatal PCIe error in 60 min at the GPU 0000:02:00.0",
                  .observed = std::int64_t{1},
                  .limit = std::int64_t{0},
                  .unit = "errors",
                  .remedy = Remedy::reseat_or_replace},
          Finding{
              .device = "0000:03:00.0",
              .outcome = Outcome::fail,
              .message = "2 non-fatal uncorrected PCIe errors in 60 min at the HCA 0000:03:00.0",
              .observed = std::int64_t{2},
              .limit = std::int64_t{0},
              .unit = "errors",
              .remedy = Remedy::reseat_or_replace}));
}

TEST(PciErrorsTest, WarnsOfCorrectedErrorsAboveTheRate) {
  auto node = seen_before();
  node.pci.facts.devices[kSwitch].aer = AerCounts{.correctable = 100};
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
  node.pci.facts.devices[kSwitch].aer = AerCounts{.correctable = 101};
  EXPECT_THAT(
      judged(node),
      ElementsAre(Finding{
          .device = "0000:01:00.0",
          .outcome = Outcome::warn,
          .message = "101 corrected PCIe errors per hour at the bridge 0000:01:00.0, limit 100",
          .observed = 101.0,
          .limit = 100.0,
          .unit = "errors/h",
          .remedy = Remedy::watch}));
}

TEST(PciErrorsTest, TheRateIsThatOfTheTimeSinceTheLastRun) {
  auto node = seen_before();
  node.identity.facts.uptime_s = 49 * kHour;
  node.pci.facts.devices[kSwitch].aer = AerCounts{.correctable = 4800};
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
  node.pci.facts.devices[kSwitch].aer = AerCounts{.correctable = 4801};
  EXPECT_EQ(judged(node).front().outcome, Outcome::warn);
}

TEST(PciErrorsTest, WarnsOfWhatAnHcaHasOnRecord) {
  auto node = seen_before();
  auto& hca = node.pci.facts.devices[kHca];
  hca.uncorrectable_status =
      1U << 20U;  // an unsupported request, as looking for devices makes them
  EXPECT_EQ(judged(node).front().outcome, Outcome::pass);
  hca.uncorrectable_status = 1U << 18U | 1U << 22U;
  EXPECT_THAT(judged(node),
              ElementsAre(Finding{.device = "0000:03:00.0",
                                  .outcome = Outcome::warn,
                                  .message = "the HCA 0000:03:00.0 has uncorrected PCIe errors on "
                                             "record: malformed packet, internal error",
                                  .observed = std::int64_t{0x440000},
                                  .remedy = Remedy::watch}));
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
  EXPECT_THAT(judged(small_guest()),
              ElementsAre(Finding{
                  .device = "node",
                  .outcome = Outcome::skip,
                  .message = "the hypervisor keeps PCIe errors to itself (2 devices: 0000:02:00.0, "
                             "0000:03:00.0)"}));
  auto node = seen_before();
  node.pci.facts.devices[kGpu].aer = Fact<AerCounts>::absent("no AER");
  EXPECT_EQ(judged(node).front(),
            (Finding{.device = "0000:02:00.0",
                     .outcome = Outcome::unknown,
                     .message = "the kernel counts no PCIe errors for it (no AER)"}));
}

TEST(PciErrorsTest, CountersThatCannotBeReadAreUnknown) {
  auto node = seen_before();
  node.pci.facts.devices[kHca].aer = Fact<AerCounts>::unreadable("no total");
  EXPECT_THAT(judged(node),
              ElementsAre(Finding{.device = "0000:03:00.0",
                                  .outcome = Outcome::unknown,
                                  .message = "the number of PCIe errors is not known: no total"}));
}

TEST(PciErrorsTest, WithoutUptimeThereIsNoRate) {
  auto node = seen_before();
  node.identity.facts.uptime_s = Fact<double>::unreadable("read /proc/uptime: empty");
  EXPECT_EQ(judged(node).front().outcome, Outcome::unknown);
}

TEST(PciErrorsTest, AsksNothingOfTheVirtualFunctionsOfAHost) {
  auto node = seen_before();
  auto part = pci_device("0000:03:00.2", PciKind::hca);
  part.virtual_function = true;
  part.aer = Fact<AerCounts>::absent("no AER");
  node.pci.facts.devices.push_back(part);
  EXPECT_THAT(judged(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

}  // namespace
}  // namespace muster::pci_errors_test
