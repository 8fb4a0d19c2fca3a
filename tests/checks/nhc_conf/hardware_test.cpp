// SPDX-License-Identifier: Apache-2.0
// check_hw_cpuinfo, check_hw_eth, check_hw_ib and check_dmi_data_match on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/nhc_conf/judging.hpp"
#include "tests/checks/nhc_conf/judge_as.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::hardware_test {
namespace {

using ::testing::ElementsAre;

Snapshot processors(Fact<unsigned> sockets = 2U) {
  return {.cpu = observed(Cpu{.sockets = std::move(sockets), .cores = 96U, .threads = 192U})};
}

Finding passed(std::string message, std::string device = "node") {
  return {.device = std::move(device), .outcome = Outcome::pass, .message = std::move(message)};
}

Finding undecided(std::string message, std::string device = "node") {
  return {.device = std::move(device), .outcome = Outcome::unknown, .message = std::move(message)};
}

TEST(NhcCpuinfoTest, PassesWhereAllCountsAgreeOrAreLeftOut) {
  const auto all = passed("2 sockets, 96 cores, 192 threads");
  EXPECT_THAT(judge_as("check_hw_cpuinfo", processors(), {"2", "96", "192"}), ElementsAre(all));
  EXPECT_THAT(judge_as("check_hw_cpuinfo", processors(), {"2"}), ElementsAre(all));
  EXPECT_THAT(judge_as("check_hw_cpuinfo", processors(), {"", "", "192"}), ElementsAre(all));
}

TEST(NhcCpuinfoTest, NamesEachCountThatDiffers) {
  EXPECT_THAT(judge_as("check_hw_cpuinfo", processors(), {"2", "128", "96"}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::fail,
                                  .message = "96 cores, 128 wanted",
                                  .observed = std::int64_t{96},
                                  .limit = std::int64_t{128},
                                  .remedy = Remedy::reseat_or_replace},
                          Finding{.device = "node",
                                  .outcome = Outcome::fail,
                                  .message = "192 threads, 96 wanted",
                                  .observed = std::int64_t{192},
                                  .limit = std::int64_t{96},
                                  .remedy = Remedy::fix_config}));
}

TEST(NhcCpuinfoTest, TakesNhcsCountOfProcessorsWithoutSockets) {
  EXPECT_THAT(judge_as("check_hw_cpuinfo", processors(), {"192", "192", "192"}),
              ElementsAre(passed("192 threads, which NHC counts as sockets")));
  EXPECT_EQ(judge_as("check_hw_cpuinfo", processors(), {"191", "191", "191"}).front().outcome,
            Outcome::fail);
  EXPECT_EQ(judge_as("check_hw_cpuinfo", processors(), {"192", "192"}).front().outcome,
            Outcome::fail);
}

TEST(NhcCpuinfoTest, IsUndecidedWhereACountIsNotKnown) {
  EXPECT_THAT(
      judge_as("check_hw_cpuinfo", processors(Fact<unsigned>::unreadable("garbled")), {"2"}),
      ElementsAre(undecided("the number of sockets is not known: garbled")));
  EXPECT_THAT(judge_as("check_hw_cpuinfo", processors(), {"two"}),
              ElementsAre(undecided("not judged: expects a number of sockets, got \"two\"")));
}

TEST(NhcEthTest, LooksForTheInterface) {
  const Snapshot snapshot{.network =
                              observed(Network{.interfaces = {{.name = "eth0"}, {.name = "ib0"}}})};
  EXPECT_THAT(judge_as("check_hw_eth", snapshot, {"eth0"}),
              ElementsAre(passed("the interface eth0 is there", "eth0")));
  EXPECT_THAT(judge_as("check_hw_eth", snapshot, {"lo"}),
              ElementsAre(passed("lo is there wherever there is a network", "lo")));
  EXPECT_THAT(judge_as("check_hw_eth", snapshot, {"ib[0-7]"}),
              ElementsAre(passed("the interface ib[0-7] is there", "ib[0-7]")));
  EXPECT_EQ(judge_as("check_hw_eth", snapshot, {"eth[1-7]"}).front().outcome, Outcome::fail);
  EXPECT_THAT(judge_as("check_hw_eth", snapshot, {"eth1"}),
              ElementsAre(Finding{.device = "eth1",
                                  .outcome = Outcome::fail,
                                  .message = "there is no interface eth1",
                                  .observed = false,
                                  .limit = true,
                                  .remedy = Remedy::fix_config}));
}

IbPort port(unsigned number, unsigned state, unsigned physical, Fact<double> rate) {
  return {.number = number,
          .link_layer = "InfiniBand",
          .state = state,
          .physical_state = physical,
          .rate_gbps = std::move(rate)};
}

Snapshot fabric() {
  return {
      .infiniband = observed(Infiniband{
          .hcas = {
              {.name = "mlx5_0", .ports = std::vector{port(1, 4, 5, 400.0), port(2, 1, 2, 10.0)}},
              {.name = "mlx5_1", .ports = std::vector{port(1, 4, 5, 200.0)}},
              {.name = "mlx5_2",
               .ports = std::vector{port(1, 4, 5, Fact<double>::unreadable("garbled"))}}}})};
}

Finding no_port(std::string device, std::string message) {
  return {.device = std::move(device),
          .outcome = Outcome::fail,
          .message = std::move(message),
          .remedy = Remedy::reseat_or_replace};
}

TEST(NhcIbTest, PassesWhereAPortIsActiveAtTheRate) {
  const std::string found = "mlx5_0:1 is ACTIVE (LinkUp) at 400 Gb/s";
  EXPECT_THAT(judge_as("check_hw_ib", fabric(), {"400", "mlx5_0:1"}),
              ElementsAre(passed(found, "mlx5_0:1")));
  EXPECT_THAT(judge_as("check_hw_ib", fabric(), {"400", "mlx5_0"}),
              ElementsAre(passed(found, "mlx5_0")));
  EXPECT_THAT(judge_as("check_hw_ib", fabric(), {"400"}), ElementsAre(passed(found)));
  EXPECT_THAT(judge_as("check_hw_ib", fabric(), {"", "mlx5_?:1"}),
              ElementsAre(passed(found, "mlx5_?:1")));
}

TEST(NhcIbTest, SaysHowThePortIs) {
  EXPECT_THAT(judge_as("check_hw_ib", fabric(), {"400", "mlx5_0:2"}),
              ElementsAre(no_port("mlx5_0:2",
                                  "mlx5_0:2 is DOWN (physical state 2) at 10 Gb/s, wanted ACTIVE "
                                  "(LinkUp) at 400 Gb/s")));
  EXPECT_THAT(judge_as("check_hw_ib", fabric(), {"400", "mlx5_1:1"}),
              ElementsAre(no_port("mlx5_1:1",
                                  "mlx5_1:1 is ACTIVE (LinkUp) at 200 Gb/s, wanted ACTIVE (LinkUp) "
                                  "at 400 Gb/s")));
  EXPECT_THAT(judge_as("check_hw_ib", fabric(), {"400", "mlx5_9:1"}),
              ElementsAre(no_port("mlx5_9:1", "there is no port mlx5_9:1")));
  EXPECT_THAT(judge_as("check_hw_ib", fabric(), {"800", "mlx5_[01]:1"}),
              ElementsAre(no_port("mlx5_[01]:1", "there is no port mlx5_[01]:1")));
  EXPECT_THAT(judge_as("check_hw_ib", fabric(), {"800", "mlx5_0:*"}),
              ElementsAre(no_port("mlx5_0:*", "none of 2 ports is ACTIVE (LinkUp) at 800 Gb/s")));
}

TEST(NhcIbTest, AnEmptyNodeHasNoPort) {
  EXPECT_THAT(judge_as("check_hw_ib", {}, {"400"}),
              ElementsAre(no_port("node", "there is no port")));
}

TEST(NhcIbTest, IsUndecidedWhereThePortThatIsMeantCouldNotBeRead) {
  EXPECT_THAT(judge_as("check_hw_ib", fabric(), {"400", "mlx5_2:1"}),
              ElementsAre(undecided("not judged: the state or rate of mlx5_2:1 could not be read",
                                    "mlx5_2:1")));
  EXPECT_THAT(judge_as("check_hw_ib", fabric(), {"fast"}),
              ElementsAre(undecided("not judged: expects a rate in Gb/s, got \"fast\"")));
  const Snapshot unread{
      .infiniband = observed(
          Infiniband{.hcas = {{.name = "mlx5_0",
                               .ports = Fact<std::vector<IbPort>>::unreadable("garbled")}}})};
  EXPECT_THAT(judge_as("check_hw_ib", unread, {"400", "mlx5_0:1"}),
              ElementsAre(undecided("not judged: the state or rate of mlx5_0 could not be read",
                                    "mlx5_0")));
}

TEST(NhcDmiTest, KnowsTheMakerAndTheProduct) {
  const Snapshot snapshot{.identity = observed(Identity{.dmi_vendor = std::string("Acme"),
                                                        .dmi_product = std::string("Node 7")})};
  EXPECT_THAT(judge_as("check_dmi_data_match", snapshot, {"System Information: Manufacturer: Ac*"}),
              ElementsAre(passed("the manufacturer is Acme")));
  EXPECT_THAT(judge_as("check_dmi_data_match", snapshot,
                       {"System", "Information:", "Product", "Name:", "Node", "7"}),
              ElementsAre(passed("the product is Node 7")));
  // The whole line is a glob, for it begins with no slash.
  EXPECT_EQ(
      judge_as("check_dmi_data_match", snapshot, {"System Information: Product Name: /Node.*/"})
          .front()
          .outcome,
      Outcome::fail);
  EXPECT_THAT(
      judge_as("check_dmi_data_match", snapshot, {"System Information: Product Name: Node 8"}),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::fail,
                          .message = "the product is Node 7, wanted Node 8",
                          .observed = "Node 7",
                          .limit = "Node 8",
                          .remedy = Remedy::fix_config}));
  const auto rest = undecided(
      "not judged: of the machine's DMI data only the manufacturer and the product are read");
  EXPECT_THAT(judge_as("check_dmi_data_match", snapshot, {"BIOS Information: Version: 1.0.37"}),
              ElementsAre(rest));
  EXPECT_THAT(
      judge_as("check_dmi_data_match", snapshot, {"-!", "System Information: Manufacturer: x"}),
      ElementsAre(rest));
  EXPECT_THAT(judge_as("check_dmi_data_match", {}, {"System Information: Product Name: x"}),
              ElementsAre(undecided("the product is not known: not observed")));
  EXPECT_THAT(judge_as("check_dmi_data_match", snapshot, {"-t"}),
              ElementsAre(undecided("not judged: option -t needs a value")));
  EXPECT_THAT(judge_as("check_dmi_data_match", snapshot, {"-q"}),
              ElementsAre(undecided("not judged: there is no option -q")));
}

}  // namespace
}  // namespace muster::nhc::hardware_test
