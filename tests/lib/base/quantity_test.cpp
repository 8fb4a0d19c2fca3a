// SPDX-License-Identifier: Apache-2.0
#include "lib/base/quantity.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "lib/base/clock.hpp"
#include "lib/base/outcome.hpp"

namespace muster {
namespace {

TEST(QuantityTest, ParsesANumberWithItsUnit) {
  EXPECT_EQ(parse_quantity<BytesKind>("2 GiB")->value, 2147483648.0);
  EXPECT_EQ(parse_quantity<BytesKind>("693505424 kB")->value, 693505424e3);
  EXPECT_EQ(parse_quantity<PercentKind>("5%")->value, 5);
  EXPECT_EQ(parse_quantity<CelsiusKind>("85C")->value, 85);
  EXPECT_EQ(parse_quantity<SecondsKind>("30 min")->value, 1800);
  EXPECT_EQ(parse_quantity<BytesPerSecondKind>("185 GB/s")->value, 185e9);
  EXPECT_EQ(parse_quantity<BitsPerSecondKind>("400 Gb/s")->value, 400e9);
  EXPECT_EQ(parse_quantity<TransfersKind>("32 GT/s")->value, 32e9);
}

TEST(QuantityTest, ParsesDurations) {
  for (const auto* five : {"5m", "5 m", "5min", "5 min", "5mins", "5 minutes", "300s", "300 sec"}) {
    const auto read = parse_quantity<SecondsKind>(five);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->value, 300) << five;
  }
  EXPECT_EQ(parse_quantity<SecondsKind>("1 minute")->value, 60);
  EXPECT_EQ(parse_quantity<SecondsKind>("2hours")->value, 7200);
  EXPECT_EQ(parse_quantity<SecondsKind>("2hrs")->value, 7200);
  EXPECT_EQ(parse_quantity<SecondsKind>("1 day")->value, 86400);
  EXPECT_EQ(parse_quantity<SecondsKind>("1w")->value, 604800);
  EXPECT_EQ(parse_quantity<SecondsKind>("2 weeks")->value, 1209600);
  EXPECT_EQ(to_string(*parse_quantity<SecondsKind>("1w")), "7 d");
  EXPECT_FALSE(parse_quantity<SecondsKind>("5 M"));
  EXPECT_FALSE(parse_quantity<SecondsKind>("5 mo"));
}

TEST(QuantityTest, RefusesANumberWithoutUnit) {
  EXPECT_EQ(parse_quantity<BitsPerSecondKind>("400").error().message,
            "\"400\" has no unit; write one of Mb/s, Gb/s, Tb/s");
}

TEST(QuantityTest, RefusesTheUnitOfAnotherKind) {
  EXPECT_EQ(parse_quantity<BytesPerSecondKind>("400 Gb/s").error().message,
            "unknown unit \"Gb/s\" in \"400 Gb/s\"; write one of B/s, kB/s, MB/s, GB/s, TB/s");
}

TEST(QuantityTest, RefusesInvalidNumbers) {
  for (const auto* wrong : {"", "GiB", "-1 GiB", "nan GiB", "1  GiB", "1 GiB ", "1e999 GiB"}) {
    EXPECT_FALSE(parse_quantity<BytesKind>(wrong)) << wrong;
  }
}

TEST(QuantityTest, ShowsTheLargestUnitThatFits) {
  EXPECT_EQ(to_string(Bytes{1.5 * 1024 * 1024 * 1024}), "1.5 GiB");
  EXPECT_EQ(to_string(Bytes{0}), "0 B");
  EXPECT_EQ(to_string(Percent{5}), "5%");
  EXPECT_EQ(to_string(Seconds{1800}), "30 min");
  EXPECT_EQ(to_string(Seconds{0}), "0 s");
  EXPECT_EQ(to_string(BytesPerSecond{185e9}), "185 GB/s");
  EXPECT_EQ(to_string(Bytes{512}), "512 B");
}

TEST(QuantityTest, ParsesWhatItShows) {
  for (const double value : {1.0, 4096.0, 1.25e9, 2007908352000.0}) {
    const auto back = parse_quantity<BytesKind>(to_string(Bytes{value}));
    ASSERT_TRUE(back);
    EXPECT_NEAR(back->value / value, 1.0, 0.001);
  }
}

TEST(OutcomeTest, HasAWord) {
  EXPECT_EQ(to_string(Outcome::skip), "skip");
  EXPECT_EQ(parse_word<Outcome>("skip"), Outcome::skip);
  EXPECT_EQ(parse_word<Outcome>("PASS"), std::nullopt);
}

TEST(RemedyTest, HasAWordAndADescription) {
  EXPECT_EQ(to_string(Remedy::report_to_provider), "report_to_provider");
  EXPECT_EQ(parse_word<Remedy>("report_to_provider"), Remedy::report_to_provider);
  EXPECT_EQ(parse_word<Remedy>(""), std::nullopt);
  EXPECT_EQ(describe(Remedy::none), "");
  EXPECT_EQ(describe(Remedy::reset_gpu), "reset the GPU");
}

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

// On a busy machine time passes between choosing a limit and using it.
TEST(TimeLimitTest, ReportsTheTimeThatWasGiven) {
  const TimeLimit limit(300ms);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(limit.allowed(), "0.3 s");
  EXPECT_EQ(limit.deadline() - limit.started(), 300ms);
  EXPECT_GE(Clock::now() - limit.started(), 10ms);
}

TEST(TimeLimitTest, EndsAtTheEarlierDeadline) {
  const TimeLimit limit(300ms);
  EXPECT_EQ(limit.until(limit.started() + 20ms).allowed(), "0.02 s");
  EXPECT_EQ(limit.until(limit.deadline() + 1s).deadline(), limit.deadline());
  EXPECT_EQ(limit.until(Clock::time_point::max()).deadline(), limit.deadline());
  EXPECT_EQ(TimeLimit(Clock::now() - 5s).allowed(), "0 s");
}

}  // namespace
}  // namespace muster
