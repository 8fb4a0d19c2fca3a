// SPDX-License-Identifier: Apache-2.0
// ib.ber judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_ber_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kRaw = "rx_corrected_bits_phy";
constexpr auto kSymbols = "rx_pcs_symbol_err_phy";
constexpr double kBitsInAnHour = 400e9 * 3600;

Profile profile() {
  Profile profile = ib_node::profile();
  profile.ib->ber = {.symbol_warn_above = 1e-14,
                     .symbol_fail_above = 1e-12,
                     .raw_warn_above = 1e-6,
                     .sisters_warn_above = 1e-8,
                     .sisters_times = 100};
  return profile;
}

// Four HCAs whose links had as many errors per bit in the last hour.
Snapshot node(double raw, double symbols) {
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) {
    auto& errors = ib_node::port_of(node, i).link_errors;
    errors[kRaw] = 7000 + static_cast<std::uint64_t>(raw * kBitsInAnHour);
    errors[kSymbols] = 20 + static_cast<std::uint64_t>(symbols * kBitsInAnHour);
    ib_node::seen_before(node, fmt::format("ib.mlx5_ib{}.1.{}", i, kRaw), 7000);
    ib_node::seen_before(node, fmt::format("ib.mlx5_ib{}.1.{}", i, kSymbols), 20);
  }
  return node;
}

void add(Snapshot& node, unsigned hca, const char* name, double per_bit) {
  ib_node::port_of(node, hca).link_errors[name] +=
      static_cast<std::uint64_t>(per_bit * kBitsInAnHour);
}

Findings judge(const Snapshot& snapshot) { return ask(checks::ib_ber::check, snapshot, profile()); }

TEST(IbBerTest, LinksThatCorrectAsTheyAlwaysDoAreWell) {
  EXPECT_THAT(judge(node(2e-8, 0)), ElementsAre(passes()));
}

TEST(IbBerTest, FailsALinkThatLosesSymbolsAndWarnsOfOneThatBeginsTo) {
  Snapshot sick = node(2e-8, 0);
  add(sick, 1, kSymbols, 5e-12);
  add(sick, 2, kSymbols, 5e-14);
  EXPECT_THAT(judge(sick),
              ElementsAre(fails("mlx5_ib1", Remedy::report_to_provider, {5e-12, 1e-12, "per bit"}),
                          ::testing::AllOf(::testing::Field(&Finding::device, "mlx5_ib2"),
                                           ::testing::Field(&Finding::outcome, Outcome::warn),
                                           ::testing::Field(&Finding::remedy, Remedy::watch))));
}

TEST(IbBerTest, WarnsOfTheOneThatCorrectsAHundredTimesAsMuchAsItsSisters) {
  Snapshot odd = node(1e-10, 0);
  add(odd, 3, kRaw, 5e-8);
  const auto findings = judge(odd);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].device, "mlx5_ib3");
  EXPECT_EQ(findings[0].outcome, Outcome::warn);
  EXPECT_EQ(findings[0], warns("mlx5_ib3", Remedy::watch, {5.01e-08, 1e-08, "per bit"}));
  // HCAs of other kinds, or only two, are not compared.
  ib_node::hca_of(odd, 3).type = std::string("MT4123");
  EXPECT_EQ(judge(odd).front().outcome, Outcome::pass);
  Snapshot two = node(1e-10, 0);
  two.infiniband->hcas.resize(2);
  add(two, 1, kRaw, 5e-8);
  EXPECT_EQ(judge(two).front().outcome, Outcome::pass);
  // By its own limit each is judged.
  add(two, 1, kRaw, 5e-6);
  EXPECT_EQ(judge(two).front().outcome, Outcome::warn);
}

TEST(IbBerTest, SkipsMissingCountersAndFirstObservations) {
  const auto none = judge(ib_node::node());
  EXPECT_EQ(none.front().outcome, Outcome::skip);
  EXPECT_EQ(none.front(), skips());
  Snapshot first = node(1e-3, 1e-3);
  first.earlier.counters.clear();
  EXPECT_EQ(judge(first).front().outcome, Outcome::skip);
  // As a counter of the function they are read, too.
  Snapshot other = node(2e-8, 0);
  for (unsigned i = 0; i < 4; ++i) {
    auto& port = ib_node::port_of(other, i);
    port.hw_counters[kSymbols] = port.link_errors.at(kSymbols) + 100'000;
    port.link_errors.clear();
  }
  EXPECT_EQ(judge(other).size(), 4U);
}

}  // namespace
}  // namespace muster::ib_ber_test
