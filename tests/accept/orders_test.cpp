// SPDX-License-Identifier: Apache-2.0
#include "accept/orders.hpp"

#include <string>

#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::accept {
namespace {

std::string error_of(const std::vector<std::string>& words) {
  const auto nodes = read_nodes(words);
  return nodes ? "" : nodes.error().message;
}

TEST(NodesTest, ComeFromHostListsAndFiles) {
  const TempDir temp;
  temp.write("order", "# delivery 7\ngpu-9 host=GGBB24 serial=165 group=east\n\ngpu-[10-11]\n");
  const auto nodes = read_nodes({"gpu-[1-2]", "@" + (temp.path() / "order").string()});
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_THAT(*nodes, SizeIs(5));
  EXPECT_EQ((*nodes)[2], (OrderedNode{"gpu-9", "GGBB24", "165", "east"}));
  EXPECT_EQ((*nodes)[4].name, "gpu-11");
}

TEST(NodesTest, AreRefusedWithOneSentence) {
  EXPECT_THAT(error_of({}), HasSubstr("no nodes"));
  EXPECT_EQ(error_of({"gpu-[1-2],gpu-2"}), "gpu-2 is in the list twice");
  EXPECT_THAT(error_of({"-oProxyCommand=x"}), HasSubstr("column"));
  EXPECT_THAT(error_of({"-x"}), HasSubstr("cannot begin with a hyphen"));
  EXPECT_THAT(error_of({".."}), HasSubstr("invalid node"));
  EXPECT_THAT(error_of({"gpu-[1-65537]"}), HasSubstr("65536"));
  EXPECT_THAT(error_of({"@/no/such/file"}), HasSubstr("/no/such/file"));
}

TEST(NodesTest, LinesOfAFileAreChecked) {
  const auto error = [](std::string_view line) {
    const auto nodes = parse_nodes(line, "order");
    return nodes ? "" : nodes.error().message;
  };
  EXPECT_EQ(error("n1\nn2 rack=4"),
            "order:2: unexpected \"rack=4\", expected host=, serial= or group=");
  EXPECT_EQ(error("n1 host="), "order:1: host= has no value");
  EXPECT_THAT(error("n[1-2] serial=5"), HasSubstr("are for a single node"));
}

TEST(NodesTest, ASerialIsAtOneNode) {
  const auto checked = check_nodes({{.name = "n1", .serial = "5"}, {.name = "n2", .serial = "5"}});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "the serial 5 is at n1 and at n2");
}

TEST(PlanTest, IsReadFromAFileOverTheStandardOne) {
  const TempDir temp;
  temp.write("night.yaml", "soak_s: 36000\nlevel: quick\nsettings: [host.disk.fail_above=95%]\n");
  const auto plan = read_plan((temp.path() / "night.yaml").string());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->name, "night");
  EXPECT_EQ(plan->soak_s, 36'000);
  EXPECT_EQ(plan->slice_s, Plan{}.slice_s);
  EXPECT_THAT(plan->settings, ElementsAre("host.disk.fail_above=95%"));
}

TEST(PlanTest, RefusesUnknownKeysAndNames) {
  const TempDir temp;
  temp.write("bad.yaml", "soaks_s: 36000\n");
  const auto plan = read_plan((temp.path() / "bad.yaml").string());
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("unknown key 'soaks_s'"));
  EXPECT_THAT(read_plan("fast").error().message, HasSubstr("unknown plan \"fast\""));
}

TEST(DifferenceTest, NamesTheFirst) {
  using Nodes = std::vector<OrderedNode>;
  const Nodes order{{.name = "n1"}, {.name = "n2"}};
  EXPECT_EQ(difference(order, Nodes{{.name = "n2"}, {.name = "n1"}}), "");
  EXPECT_EQ(difference(order, Nodes{{.name = "n1"}, {.name = "n3"}}), "n3 was not ordered");
  EXPECT_EQ(difference(order, Nodes{{.name = "n1"}}), "n2 was ordered but is not in the list now");
  EXPECT_THAT(difference(order, Nodes{{.name = "n1", .host = "a"}, {.name = "n2"}}),
              HasSubstr("another host"));
  EXPECT_EQ(difference(Plan{}, Plan{}), "");
  EXPECT_EQ(difference(Plan{}, Plan{.soak_s = 60}), "soak_s was 86400 in its plan and is 60 now");
}

}  // namespace
}  // namespace muster::accept
