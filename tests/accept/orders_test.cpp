// SPDX-License-Identifier: Apache-2.0
#include "accept/orders.hpp"

#include <algorithm>
#include <string>
#include <string_view>

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
  const auto nodes = read_nodes({"gpu-[1-2]", "@" + temp.path("order")});
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
  EXPECT_EQ(error_of({"n1", "gpu-[1"}), "gpu-[1: column 5: unmatched opening bracket");
  EXPECT_THAT(error_of({"@/no/such/file"}), HasSubstr("/no/such/file"));
}

// The error about a file, from its line on.
std::string error_in_file(std::string_view text) {
  const TempDir temp;
  temp.write("order", text);
  const auto error = error_of({"@" + temp.path("order")});
  return error.substr(std::min(error.size(), error.find("order:")));
}

TEST(NodesTest, LinesOfAFileAreChecked) {
  EXPECT_EQ(error_in_file("n1\nn2 rack=4"),
            "order:2: unexpected \"rack=4\", expected host=, serial= or group=");
  EXPECT_EQ(error_in_file("n1 host="), "order:1: host= has no value");
  EXPECT_EQ(error_in_file("n1 group=a host=A group=b"), "order:1: group= is given twice");
  EXPECT_THAT(error_in_file("n[1-2] serial=5"), HasSubstr("are for a single node"));
}

TEST(NodesTest, ANodeAndASerialAreInAFileOnce) {
  EXPECT_EQ(error_in_file("n1\n\nn2\nn[1-3]"), "order:4: n1 is in the list twice");
  EXPECT_EQ(error_in_file("n1 serial=5\nn2 serial=5"), "order:2: the serial 5 is at n1 and at n2");
}

TEST(PlanTest, IsReadFromAFileOverTheStandardOne) {
  const TempDir temp;
  temp.write("night.yaml", "soak_s: 36000\nlevel: quick\nsettings: [host.disk.fail_above=95%]\n");
  const auto plan = read_plan(temp.path("night.yaml"), {});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->name, "night");
  EXPECT_EQ(plan->soak_s, 36'000);
  EXPECT_EQ(plan->slice_s, Plan{}.slice_s);
  EXPECT_THAT(plan->settings, ElementsAre("host.disk.fail_above=95%"));
}

// The error about a plan, from its line on.
std::string error_in_plan(std::string_view text) {
  const TempDir temp;
  temp.write("bad.yaml", text);
  const auto plan = read_plan(temp.path("bad.yaml"), {});
  if (plan) return "";
  return plan.error().message.substr(plan.error().message.find("bad.yaml"));
}

TEST(PlanTest, RefusesUnknownKeysAndNames) {
  EXPECT_THAT(error_in_plan("soaks_s: 36000\n"), HasSubstr("bad.yaml:1: unknown key 'soaks_s'"));
  EXPECT_THAT(read_plan("fast", {}).error().message, HasSubstr("unknown plan \"fast\""));
}

TEST(PlanTest, NamesTheLineOfAValueOutOfRange) {
  EXPECT_EQ(error_in_plan("level: quick\nsoak_s: 1\n"),
            "bad.yaml:2: soak_s: 1 is out of range, expected 60 to 2592000");
  EXPECT_THAT(error_in_plan("terms:\n  good_rate: 6\n  risk: 3\n"),
              StartsWith("bad.yaml:3: terms: risk: 3 is out of range"));
  EXPECT_EQ(error_in_plan("soak_s: 300\n"), "bad.yaml: slice_s: 600 is above soak_s, 300");
}

TEST(PlanTest, RefusesAProfileAndSettingsThatMusterCheckRefuses) {
  EXPECT_EQ(error_in_plan("level: quick\nprofile: nope\n"),
            "bad.yaml:2: unknown profile 'nope'; muster profiles lists them");
  const std::string generic = "profile: generic\nsettings:\n- host.disk.fail_above=95%\n";
  EXPECT_EQ(error_in_plan(generic), "");
  EXPECT_THAT(error_in_plan(generic + "- host.dsk.fail_above=95%\n"),
              StartsWith("bad.yaml:4: --set: unknown key 'host.dsk'"));
  EXPECT_THAT(error_in_plan(generic + "- host.disk.fail_above=95\n"), HasSubstr("has no unit"));
  EXPECT_THAT(error_in_plan(generic + "- nonsense\n"), StartsWith("bad.yaml:4: --set"));
}

TEST(PlanTest, WithoutAProfileTakesSettingsOfAnyProfile) {
  EXPECT_EQ(error_in_plan("settings: [bench.job_all_reduce.0.fail_below=300 GB/s]\n"), "");
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
