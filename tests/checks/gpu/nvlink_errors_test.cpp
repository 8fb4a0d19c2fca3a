// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/state/counters.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_nvlink_errors_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Findings judge(const Snapshot& snapshot, const Profile& profile = linked_node::profile()) {
  return ask(checks::gpu_nvlink_errors::check, snapshot, profile);
}

// Seen an hour ago with all counters at zero.
Snapshot seen() {
  Snapshot node = linked_node::node();
  linked_node::all_seen_before(node);
  return node;
}

Finding well(std::string message) {
  return {.device = "node", .outcome = Outcome::pass, .message = std::move(message)};
}

Finding bad(Outcome outcome, Value observed, Value limit, std::string message) {
  return {.device = "gpu0",
          .outcome = outcome,
          .message = fmt::format("{} (serial 165092300)", message),
          .observed = std::move(observed),
          .limit = std::move(limit),
          .remedy = outcome == Outcome::fail ? Remedy::report_to_provider : Remedy::watch};
}

const Finding kOthersWell = well("18 NVLinks within their limits of errors");

TEST(GpuNvlinkErrorsTest, PassesLinksWithoutErrorsSinceAnEarlierRun) {
  EXPECT_THAT(judge(seen()), ElementsAre(well("36 NVLinks within their limits of errors")));
}

TEST(GpuNvlinkErrorsTest, TheFirstRunJudgesTheBitErrorRateOnly) {
  Snapshot node = linked_node::node();
  linked_node::link_of(node, 0, 0).replays = 1000U;
  EXPECT_THAT(judge(node),
              ElementsAre(well("36 NVLinks within their limits of errors, all by the bit error "
                               "rate only: there is no earlier run")));
  for (auto& gpu : node.nvml->gpus) {
    for (auto& link : *gpu.nvlinks) link.ber = Fact<double>::absent("Not Supported (3)");
  }
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::skip,
                                  .message = "first observation in this boot, or counters cleared "
                                             "since: a rate needs an earlier one"}));
}

TEST(GpuNvlinkErrorsTest, FailsABitErrorRateAboveTheLimitAtOnce) {
  Snapshot node = linked_node::node();
  linked_node::link_of(node, 0, 4).ber = 2e-11;
  EXPECT_EQ(judge(node).front(),
            bad(Outcome::fail, 2e-11, 1e-12,
                "the effective bit error rate of link 4 is 2.0e-11, limit 1.0e-12"));
  linked_node::link_of(node, 0, 11).ber = 3e-10;
  EXPECT_EQ(judge(node).front(),
            bad(Outcome::fail, 3e-10, 1e-12,
                "the effective bit error rate of links 4 and 11 is up to 3.0e-10, limit 1.0e-12"));
  linked_node::link_of(node, 0, 4).ber = 1e-12;
  linked_node::link_of(node, 0, 11).ber = 0.0;
  EXPECT_EQ(judge(node).front().outcome, Outcome::pass);
}

Finding checksums(double rate, std::string message) {
  Finding finding = bad(Outcome::fail, rate, 100.0, std::move(message));
  finding.unit = "per second";
  return finding;
}

TEST(GpuNvlinkErrorsTest, FailsAHundredChecksumErrorsPerSecond) {
  Snapshot node = seen();
  linked_node::link_of(node, 0, 4).crc = 359999U;
  EXPECT_THAT(judge(node), ElementsAre(well("36 NVLinks within their limits of errors")));
  linked_node::link_of(node, 0, 4).crc = 360000U;
  EXPECT_THAT(
      judge(node),
      ElementsAre(checksums(100, "link 4 has 100.0 CRC errors per second in 60 min, limit 100"),
                  kOthersWell));
  linked_node::link_of(node, 0, 5).crc = 540000U;
  EXPECT_THAT(
      judge(node),
      ElementsAre(
          checksums(150,
                    "links 4 and 5 have up to 150.0 CRC errors per second in 60 min, limit 100"),
          kOthersWell));
}

TEST(GpuNvlinkErrorsTest, ABurstOfChecksumErrorsSecondsAfterARunIsNoRateOfAnHour) {
  Snapshot node = linked_node::node();
  for (const auto& [key, value] : counters_of(node)) {
    linked_node::seen_before(node, key, value, 10);
  }
  linked_node::link_of(node, 0, 4).crc = 5000U;
  EXPECT_EQ(judge(node).front().outcome, Outcome::pass);
}

TEST(GpuNvlinkErrorsTest, WarnsOfRecoveriesAndReplays) {
  Snapshot node = seen();
  linked_node::link_of(node, 0, 4).replays = 12U;
  EXPECT_THAT(judge(node),
              ElementsAre(bad(Outcome::warn, std::int64_t{12}, std::int64_t{0},
                              "link 4 replayed data 12 times in 60 min, at most 0 allowed"),
                          kOthersWell));
  linked_node::link_of(node, 0, 4).recoveries = 1U;
  EXPECT_THAT(judge(node), ElementsAre(bad(Outcome::warn, std::int64_t{1}, std::int64_t{0},
                                           "link 4 recovered 1 time in 60 min, at most 0 allowed"),
                                       kOthersWell));
  linked_node::link_of(node, 0, 5).recoveries = 3U;
  EXPECT_EQ(judge(node).front().message,
            "links 4 and 5 recovered up to 3 times in 60 min, at most 0 allowed (serial "
            "165092300)");
}

TEST(GpuNvlinkErrorsTest, RemembersARecoveryForItsWindow) {
  Snapshot node = seen();
  linked_node::link_of(node, 0, 4).recoveries = 1U;
  const std::string key = "gpu.0001:00:00.0.nvlink.4.recoveries";
  auto& changes = node.earlier.counters.at(key);
  changes = {{.uptime_s = linked_node::kUptime - 36000, .value = 0},
             {.uptime_s = linked_node::kUptime - 20000, .value = 1}};
  EXPECT_EQ(judge(node).front().outcome, Outcome::warn);
  changes = {{.uptime_s = linked_node::kUptime - 200000, .value = 0},
             {.uptime_s = linked_node::kUptime - 100000, .value = 1}};
  EXPECT_EQ(judge(node).front().outcome, Outcome::pass);
}

TEST(GpuNvlinkErrorsTest, SaysTheWorstOfOneGpuOnce) {
  Snapshot node = seen();
  auto& link = linked_node::link_of(node, 0, 4);
  link.replays = 12U;
  link.recoveries = 1U;
  link.crc = 720000U;
  EXPECT_THAT(
      judge(node),
      ElementsAre(checksums(200, "link 4 has 200.0 CRC errors per second in 60 min, limit 100"),
                  kOthersWell));
  link.ber = 2e-11;
  EXPECT_THAT(judge(node),
              ElementsAre(bad(Outcome::fail, 2e-11, 1e-12,
                              "the effective bit error rate of link 4 is 2.0e-11, limit 1.0e-12"),
                          kOthersWell));
}

TEST(GpuNvlinkErrorsTest, StartsAfreshWhereCountersWentDown) {
  Snapshot node = linked_node::node();
  for (const auto& [key, value] : counters_of(node)) linked_node::seen_before(node, key, 500);
  for (auto& link : *gpu_node::gpu(node, 0).nvlinks) link.recoveries = 3U;
  EXPECT_EQ(judge(node).front().outcome, Outcome::pass);
}

TEST(GpuNvlinkErrorsTest, LeavesAnInactiveLinkToGpuNvlinkState) {
  Snapshot node = seen();
  auto& link = linked_node::link_of(node, 0, 4);
  link.state = 0U;
  link.recoveries = 20U;
  link.crc = Fact<std::uint64_t>::unreadable("Unknown Error (999)");
  link.ber = 1e-3;
  EXPECT_THAT(judge(node), ElementsAre(well("35 NVLinks within their limits of errors")));
}

TEST(GpuNvlinkErrorsTest, DoesNotKnowWhatCouldNotBeRead) {
  const auto unclear = [](std::string message) {
    return Finding{.device = "gpu0", .outcome = Outcome::unknown, .message = std::move(message)};
  };
  Snapshot node = seen();
  linked_node::link_of(node, 0, 4).crc = Fact<std::uint64_t>::unreadable("Unknown Error (999)");
  linked_node::link_of(node, 0, 4).replays = Fact<std::uint64_t>::unreadable("Unknown Error (999)");
  EXPECT_THAT(
      judge(node),
      ElementsAre(unclear("the errors of link 4 are not known: Unknown Error (999)"), kOthersWell));
  linked_node::link_of(node, 0, 11).ber = Fact<double>::unreadable("N/A");
  EXPECT_EQ(judge(node).front(),
            unclear("the errors of links 4 and 11 are not known: Unknown Error (999)"));
  gpu_node::gpu(node, 0).nvlinks = Fact<std::vector<NvLink>>::unreadable("Unknown Error (999)");
  EXPECT_THAT(judge(node),
              ElementsAre(unclear("the number of NVLink errors is not known: Unknown Error (999)"),
                          kOthersWell));
}

TEST(GpuNvlinkErrorsTest, KnowsNothingOfASaturatedCounter) {
  for (const std::uint64_t end : {0xffffffffUL, 0xffffffffffffffffUL}) {
    Snapshot node = seen();
    linked_node::link_of(node, 0, 4).crc = end;
    EXPECT_EQ(judge(node).front(),
              (Finding{.device = "gpu0",
                       .outcome = Outcome::unknown,
                       .message = fmt::format("the errors of link 4 are not known: the counter crc "
                                              "is saturated at {}",
                                              end)}));
  }
}

TEST(GpuNvlinkErrorsTest, LinksThatAppearLaterAreSaidToBeNew) {
  Snapshot node = seen();
  for (auto& link : *gpu_node::gpu(node, 0).nvlinks) {
    link.ber = Fact<double>::absent("Not Supported (3)");
  }
  std::erase_if(node.earlier.counters, [](const auto& entry) {
    return entry.first.starts_with("gpu.0001:00:00.0.nvlink.");
  });
  EXPECT_THAT(judge(node),
              ElementsAre(well("18 NVLinks within their limits of errors, 18 seen for the first "
                               "time")));
}

TEST(GpuNvlinkErrorsTest, SkipsWhereNoGpuTells) {
  const Finding skip{
      .device = "node", .outcome = Outcome::skip, .message = "no GPU tells of errors of an NVLink"};
  Snapshot node = seen();
  gpu_node::gpu(node, 0).nvlinks = Fact<std::vector<NvLink>>::absent("Not Supported (3)");
  gpu_node::gpu(node, 1).nvlinks = std::vector<NvLink>();
  EXPECT_THAT(judge(node), ElementsAre(skip));
  gpu_node::gpu(node, 1).nvlinks = std::vector<NvLink>{{.link = 0, .state = 1U}};
  EXPECT_THAT(judge(node), ElementsAre(skip));
}

TEST(GpuNvlinkErrorsTest, NeedsTheTimeSinceBoot) {
  Snapshot node = seen();
  node.identity->uptime_s = Fact<double>::unreadable("empty");
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::unknown,
                                  .message = "the time since boot, which rates need, is not "
                                             "known: empty"}));
}

TEST(GpuNvlinkErrorsTest, SkipsWithoutLimits) {
  EXPECT_THAT(judge(seen(), Profile{}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::skip,
                                  .message = "this profile sets no limit for errors of "
                                             "NVLinks"}));
  Profile one = linked_node::profile();
  one.gpu->nvlink_errors = {.replays_warn_above = 10, .window = Seconds{3600}};
  Snapshot node = seen();
  auto& link = linked_node::link_of(node, 0, 4);
  link.replays = 10U;
  link.recoveries = 10U;
  link.crc = 999999U;
  link.ber = 1.0;
  EXPECT_THAT(judge(node, one), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
  link.replays = 11U;
  EXPECT_EQ(judge(node, one).front().message,
            "link 4 replayed data 11 times in 60 min, at most 10 allowed (serial 165092300)");
}

// As of Blackwell: no replays, no CRC.
Snapshot blackwell() {
  Snapshot node = linked_node::node();
  for (auto& gpu : node.nvml->gpus) {
    for (auto& link : *gpu.nvlinks) {
      link.replays = Fact<std::uint64_t>::absent("Not Supported (3)");
      link.crc = link.replays;
      link.failed_recoveries = 0U;
      link.receive_errors = 0U;
      link.integrity_errors = 0U;
    }
  }
  linked_node::all_seen_before(node);
  return node;
}

TEST(GpuNvlinkErrorsTest, BlackwellsCountersAreJudged) {
  Profile profile = linked_node::profile();
  auto& limits = profile.gpu->nvlink_errors;
  limits.recoveries_warn_above = 3;
  limits.failed_recoveries_fail_above = 0;
  limits.damaged_warn_above = 100;
  const auto worst = [&](const Snapshot& node) {
    return ask(checks::gpu_nvlink_errors::check, node, profile).front();
  };
  EXPECT_EQ(worst(blackwell()).outcome, Outcome::pass);
  Snapshot busy = blackwell();
  linked_node::link_of(busy, 0, 2).recoveries = 3U;
  linked_node::link_of(busy, 0, 2).receive_errors = 60U;
  linked_node::link_of(busy, 0, 2).integrity_errors = 40U;
  EXPECT_EQ(worst(busy).outcome, Outcome::pass);
  linked_node::link_of(busy, 0, 2).receive_errors = 61U;
  EXPECT_THAT(worst(busy).message, ::testing::HasSubstr("received damaged packets 101 times"));
  linked_node::link_of(busy, 0, 2).recoveries = 101U;
  EXPECT_EQ(worst(busy).outcome, Outcome::warn);
  EXPECT_THAT(worst(busy).message, ::testing::HasSubstr("recovered 101 times"));
  linked_node::link_of(busy, 0, 2).failed_recoveries = 1U;
  EXPECT_EQ(worst(busy).outcome, Outcome::fail);
  EXPECT_THAT(worst(busy).message, ::testing::HasSubstr("could not be recovered 1 time"));
}

}  // namespace
}  // namespace muster::gpu_nvlink_errors_test
