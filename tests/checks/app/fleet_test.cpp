// SPDX-License-Identifier: Apache-2.0
#include "checks/app/fleet.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/base/text.hpp"

namespace muster::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Snapshot node_with(std::string_view firmware) {
  Snapshot snapshot;
  snapshot.infiniband = observed(Infiniband{});
  for (int i = 0; i < 8; ++i) {
    Hca hca;
    hca.name = fmt::format("mlx5_ib{}", i);
    hca.firmware = std::string(firmware);
    snapshot.infiniband->hcas.push_back(hca);
  }
  return snapshot;
}

Report healthy(int number) {
  return {.node = fmt::format("n{:04}", number), .profile = "p", .verdict = Verdict::healthy};
}

Report sick(int number, std::string message) {
  auto report = healthy(number);
  report.verdict = Verdict::unhealthy;
  report.findings = {{.check = "ib.rate",
                      .device = fmt::format("mlx5_ib{}", number % 8),
                      .outcome = Outcome::fail,
                      .message = std::move(message)}};
  return report;
}

TEST(FleetTest, CountsTheNodesAndNamesTheSickOnesByCause) {
  const auto snapshot = node_with("28.39");
  std::vector<FleetNode> nodes;
  for (int i = 1; i <= 20; ++i) nodes.push_back(fleet_node(snapshot, healthy(i)));
  for (const int i : {21, 22, 23}) {
    nodes.push_back(fleet_node(snapshot, sick(i, "200 Gb/s, expected 400 Gb/s")));
  }
  auto blind = healthy(24);
  blind.verdict = Verdict::unknown;
  blind.coverage.not_observed = {{"GPUs", "no NVML", true}};
  nodes.push_back(fleet_node(snapshot, blind));
  EXPECT_EQ(fleet_table(nodes, 2),
            "fleet    24 nodes: 20 healthy, 3 unhealthy, 1 unknown; 2 could not be read or judged\n"
            "fail     ib.rate: 200 Gb/s, expected 400 Gb/s\n"
            "         3 nodes: n[0021-0023]\n"
            "unknown  not observed: GPUs\n"
            "         1 node: n0024\n");
}

TEST(FleetTest, NamesTheNodesThatDifferFromMost) {
  std::vector<FleetNode> nodes;
  for (int i = 1; i <= 20; ++i) nodes.push_back(fleet_node(node_with("28.39"), healthy(i)));
  for (const int i : {21, 22}) nodes.push_back(fleet_node(node_with("28.36"), healthy(i)));
  auto mixed = node_with("28.39");
  mixed.infiniband->hcas[3].firmware = std::string("28.36");
  nodes.push_back(fleet_node(mixed, healthy(23)));
  EXPECT_THAT(
      fleet_table(nodes, 0),
      AllOf(HasSubstr("odd      HCA firmware 28.36, most have 28.39: 2 nodes: n[0021-0022]\n"),
            HasSubstr("odd      HCA firmware 28.36 and 28.39, most have 28.39: n0023\n")));
}

TEST(FleetTest, ComparesNodesOfOneProfileAndNeedsAMajority) {
  std::vector<FleetNode> nodes;
  for (int i = 1; i <= 4; ++i) nodes.push_back(fleet_node(node_with("1.0"), healthy(i)));
  for (int i = 5; i <= 8; ++i) {
    auto report = healthy(i);
    report.profile = "q";
    nodes.push_back(fleet_node(node_with("2.0"), report));
  }
  EXPECT_THAT(fleet_table(nodes, 0), Not(HasSubstr("odd ")));
  for (auto& node : nodes) node.profile = "p";
  EXPECT_THAT(fleet_table(nodes, 0), Not(HasSubstr("odd ")));
}

TEST(FleetTest, AThousandNodesTakeFortyLinesOfEightyColumns) {
  std::vector<FleetNode> nodes;
  for (int i = 0; i < 1000; ++i) {
    const auto report =
        i % 3 == 0 ? sick(i, fmt::format("trouble {}",
                                         std::string(static_cast<std::size_t>(i) % 40 + 1, 'x')))
                   : healthy(i);
    nodes.push_back(fleet_node(node_with(fmt::format("28.{}", i % 50 == 0 ? i : 39)), report));
  }
  const auto table = fleet_table(nodes, 0);
  EXPECT_LE(std::ranges::count(table, '\n'), 40) << table;
  for (const auto line : split_lines(table)) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace muster::app
