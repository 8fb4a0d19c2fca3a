// SPDX-License-Identifier: Apache-2.0
// Error counters and bit errors of links.
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"

namespace muster::ib_errors_test {
namespace {

constexpr auto kKey = "ib.mlx5_ib1.1.symbol_error";

constexpr AskedCheck judge_errors{checks::ib_errors::check, ib_node::profile};

Fact<std::uint64_t>& counter(Snapshot& node, unsigned index) {
  return port_of(node, index).counters->at("symbol_error");
}

TEST(IbErrorsTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"ignores a lifetime total that does not rise",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 40000);
         counter(node, 1) = 40000U;
       },
       {passes()}},
      {"skips the first observation", [](Snapshot&) {}, {skips()}},
      {"does not subtract from a cleared counter",
       [](Snapshot& node) {
         ib_node::seen_before(node, kKey, 500);
         counter(node, 1) = 3U;
       },
       {skips()}},
      {"does not know a counter that is not there",
       [](Snapshot& node) { port_of(node, 1).counters->erase("symbol_error"); },
       {unknown("mlx5_ib1")}},
      {"does not know counters that cannot be listed",
       [](Snapshot& node) { port_of(node, 1).counters = unreadable(); },
       {unknown("mlx5_ib1")}},
      {"does not know rates without a clock",
       [](Snapshot& node) { node.identity->uptime_s = unreadable(); },
       {unknown()}},
      {"sees a burst of the last hour that the window averages away",
       [](Snapshot& node) {
         node.earlier.last_uptime_s = ib_node::kUptime - 600;
         node.earlier.counters[kKey] = {{.uptime_s = 600, .value = 0}};
         counter(node, 1) = 40U;
       },
       {warns("mlx5_ib1", Remedy::watch, {40.0, 10.0, "per hour"})}},
      {"takes a rise since the last run for that times rise",
       [](Snapshot& node) {
         node.earlier.last_uptime_s = ib_node::kUptime - 10 * 3600;
         node.earlier.counters[kKey] = {{.uptime_s = 600, .value = 0}};
         counter(node, 1) = 40U;
       },
       {passes()}},
  };
  expect_findings(judge_errors, ib_node::node(), changes);
}

// Warns at the first look and later, for any rise: the past was bad, the present is unknown.
TEST(IbErrorsTest, ASaturatedCounterWarns) {
  for (const auto& [name, most] :
       std::map<std::string, std::uint64_t>{{"VL15_dropped", 65535},
                                            {"excessive_buffer_overrun_errors", 15},
                                            {"link_downed", 255},
                                            {"link_error_recovery", 255},
                                            {"local_link_integrity_errors", 15},
                                            {"port_rcv_constraint_errors", 255},
                                            {"port_rcv_errors", 65535},
                                            {"port_rcv_remote_physical_errors", 65535},
                                            {"port_rcv_switch_relay_errors", 65535},
                                            {"port_xmit_constraint_errors", 255},
                                            {"port_xmit_discards", 65535},
                                            {"symbol_error", 65535},
                                            {"out_of_sequence", 4294967295}}) {
    Profile profile = ib_node::profile();
    profile.ib->errors.counters = {{name, {.fail_above_per_hour = 0}}};
    Snapshot first = ib_node::node();
    for (unsigned i = 0; i < 4; ++i) {
      (*port_of(first, i).counters)[name] = std::uint64_t{i == 1 ? most : 0U};
    }
    Snapshot later = first;
    const auto key = fmt::format("ib.mlx5_ib1.1.{}", name);
    ib_node::seen_before(later, key, most);
    Snapshot risen = first;
    ib_node::seen_before(risen, key, 0);
    for (const auto& node : {first, later, risen}) {
      EXPECT_THAT(judge_errors(node, profile),
                  ElementsAre(warns("mlx5_ib1", Remedy::watch, {static_cast<std::int64_t>(most)})))
          << name;
    }
  }
}

TEST(IbErrorsTest, PointsToPartitionKeysForConstraintErrors) {
  Profile profile = ib_node::profile();
  profile.ib->errors.counters = {{"port_rcv_constraint_errors", {.warn_above_per_hour = 0}}};
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) (*port_of(node, i).counters)["port_rcv_constraint_errors"] = 1U;
  ib_node::seen_before(node, "ib.mlx5_ib1.1.port_rcv_constraint_errors", 0);
  EXPECT_THAT(judge_errors(node, profile),
              ElementsAre(AllOf(is(Outcome::warn),
                                ::testing::Field(&Finding::remedy, Remedy::fix_config))));
}

// Virtual functions that are refused the register of their port.
Snapshot refused() {
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) {
    hca_of(node, i).virtual_function = true;
    counter(node, i) = absent();
  }
  return node;
}

TEST(IbErrorsTest, SkipsIfVirtualFunctionsAreRefusedTheWholeRegister) {
  EXPECT_THAT(judge_errors(refused()), ElementsAre(skips()));
}

TEST(IbErrorsTest, DoesNotTakeOneRefusedCounterForAVirtualFunctionsNature) {
  Profile profile = ib_node::profile();
  profile.ib->errors.counters["port_rcv_errors"] = {.warn_above_per_hour = 10};
  Snapshot node = refused();
  for (unsigned i = 0; i < 4; ++i) (*port_of(node, i).counters)["port_rcv_errors"] = 0U;
  EXPECT_THAT(judge_errors(node, profile), Each(is(Outcome::unknown)));
}

TEST(IbErrorsTest, PassesZerosOfAVirtualFunction) {
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) {
    hca_of(node, i).virtual_function = true;
    ib_node::seen_before(node, fmt::format("ib.mlx5_ib{}.1.symbol_error", i), 0);
  }
  EXPECT_THAT(judge_errors(node), ElementsAre(passes()));
}

TEST(IbErrorsTest, LeavesThePortsRefusedRegisterOutIfTheFunctionsOwnCountersAreJudged) {
  Profile profile = ib_node::profile();
  profile.ib->errors.counters["out_of_sequence"] = {.warn_above_per_hour = 10};
  Snapshot node = refused();
  for (unsigned i = 0; i < 4; ++i) {
    (*port_of(node, i).hw_counters)["out_of_sequence"] = 0U;
    ib_node::seen_before(node, fmt::format("ib.mlx5_ib{}.1.out_of_sequence", i), 0);
  }
  EXPECT_THAT(judge_errors(node, profile), ElementsAre(passes()));
}

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
    auto& errors = port_of(node, i).link_errors;
    errors[kRaw] = 7000 + static_cast<std::uint64_t>(raw * kBitsInAnHour);
    errors[kSymbols] = 20 + static_cast<std::uint64_t>(symbols * kBitsInAnHour);
    ib_node::seen_before(node, fmt::format("ib.mlx5_ib{}.1.{}", i, kRaw), 7000);
    ib_node::seen_before(node, fmt::format("ib.mlx5_ib{}.1.{}", i, kSymbols), 20);
  }
  return node;
}

void add(Snapshot& node, unsigned hca, const char* name, double per_bit) {
  port_of(node, hca).link_errors[name] += static_cast<std::uint64_t>(per_bit * kBitsInAnHour);
}

constexpr AskedCheck judge_ber{checks::ib_ber::check, profile};

TEST(IbBerTest, LinksThatCorrectAsTheyAlwaysDoAreWell) {
  EXPECT_THAT(judge_ber(node(2e-8, 0)), ElementsAre(passes()));
}

TEST(IbBerTest, FailsALinkThatLosesSymbolsAndWarnsOfOneThatBeginsTo) {
  Snapshot sick = node(2e-8, 0);
  add(sick, 1, kSymbols, 5e-12);
  add(sick, 2, kSymbols, 5e-14);
  EXPECT_THAT(judge_ber(sick),
              ElementsAre(fails("mlx5_ib1", Remedy::report_to_provider, {5e-12, 1e-12, "per bit"}),
                          is(Outcome::warn, "mlx5_ib2")));
}

TEST(IbBerTest, WarnsOfTheOneThatCorrectsAHundredTimesAsMuchAsItsPeers) {
  Snapshot odd = node(1e-10, 0);
  add(odd, 3, kRaw, 5e-8);
  EXPECT_THAT(judge_ber(odd),
              ElementsAre(warns("mlx5_ib3", Remedy::watch, {5.01e-08, 1e-08, "per bit"})));
  // HCAs of other kinds, or only two, are not compared.
  hca_of(odd, 3).type = "MT4123"s;
  EXPECT_EQ(judge_ber(odd).front().outcome, Outcome::pass);
  Snapshot two = node(1e-10, 0);
  two.infiniband->hcas.resize(2);
  add(two, 1, kRaw, 5e-8);
  EXPECT_EQ(judge_ber(two).front().outcome, Outcome::pass);
  // Each is judged by its own limit.
  add(two, 1, kRaw, 5e-6);
  EXPECT_EQ(judge_ber(two).front().outcome, Outcome::warn);
}

TEST(IbBerTest, DoesNotKnowCountersThatCannotBeListed) {
  Snapshot hidden = node(1e-10, 0);
  port_of(hidden, 1).link_errors.clear();
  port_of(hidden, 1).hw_counters = unreadable();
  EXPECT_THAT(judge_ber(hidden), ElementsAre(unknown("mlx5_ib1")));
  // The interface's own counters suffice.
  Snapshot counted = node(1e-10, 0);
  port_of(counted, 1).hw_counters = unreadable();
  EXPECT_THAT(judge_ber(counted), ElementsAre(passes()));
}

TEST(IbBerTest, SkipsMissingCountersAndFirstObservations) {
  EXPECT_THAT(judge_ber(ib_node::node()), ElementsAre(skips()));
  Snapshot first = node(1e-3, 1e-3);
  first.earlier.counters.clear();
  EXPECT_EQ(judge_ber(first).front().outcome, Outcome::skip);
  // They are also read as a counter of the function.
  Snapshot other = node(2e-8, 0);
  for (unsigned i = 0; i < 4; ++i) {
    auto& port = port_of(other, i);
    (*port.hw_counters)[kSymbols] = port.link_errors.at(kSymbols) + 100'000;
    port.link_errors.clear();
  }
  EXPECT_EQ(judge_ber(other).size(), 4U);
}

}  // namespace
}  // namespace muster::ib_errors_test
