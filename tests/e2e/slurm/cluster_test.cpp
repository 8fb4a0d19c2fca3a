// SPDX-License-Identifier: Apache-2.0
// Properties of a real Slurm that muster relies on. Also verifies that the test cluster leaves
// nothing behind.
#include "tests/e2e/slurm/cluster.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "slurm/policy/node_memory.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
  }
};

// The requests of muster to sinfo and scontrol.
TEST_F(ClusterTest, KeepsAMemoryWithTheNode) {
  Cluster cluster({.nodes = 2});
  ASSERT_EQ(cluster.trouble(), "");
  const auto nodes = [&](std::string_view field) {
    const auto ran = cluster.run({"sinfo", "-h", "-N", "-O", slurm::sinfo_format(field, "5eed")},
                                 {{"SLURM_TIME_FORMAT", "%s"}});
    const auto parsed = slurm::parse_sinfo(ran.out, "5eed");
    EXPECT_TRUE(parsed) << ran.out << ran.err;
    return parsed.value_or(std::vector<slurm::NodeState>(2));
  };
  const auto text = slurm::to_text({.check = "a.b", .boot = "b-1", .drains = {slurm::Time{}}});
  const std::string reason(190, 'r');
  for (const std::string field : {"Extra", "Comment"}) {
    EXPECT_EQ(nodes(field)[0].memory, "");
    ASSERT_EQ(cluster
                  .scontrol({"update", "nodename=n1", "state=drain",
                             "reason=" + reason + "\nn2|main|idle", field + "=" + text})
                  .status,
              0);
    const auto seen = nodes(field);
    ASSERT_EQ(seen.size(), 2);
    EXPECT_EQ(seen[0].name, "n1");
    EXPECT_EQ(seen[0].memory, text);
    EXPECT_EQ(seen[0].reason, reason + "\nn2|main|idle");
    EXPECT_EQ(seen[0].user, "root");
    EXPECT_TRUE(seen[0].since);
    EXPECT_EQ(seen[1], (slurm::NodeState{.name = "n2", .partitions = {"main"}, .state = "idle"}));
    ASSERT_EQ(cluster.scontrol({"update", "nodename=n1", "state=resume", field + "="}).status, 0);
    ASSERT_EQ(nodes(field)[0].memory, "");
  }
  EXPECT_EQ(nodes("").size(), 2);
}

// An older Slurm may not know the field.
TEST_F(ClusterTest, AnUnknownFieldIsNoMemory) {
  Cluster cluster({.nodes = 1});
  ASSERT_EQ(cluster.trouble(), "");
  const auto ran = cluster.run({"sinfo", "-h", "-N", "-O", slurm::sinfo_format("Nonsense", "5eed")},
                               {{"SLURM_TIME_FORMAT", "%s"}});
  const auto nodes = slurm::parse_sinfo(ran.out, "5eed");
  ASSERT_TRUE(nodes) << ran.out << ran.err;
  ASSERT_EQ(nodes->size(), 1);
  EXPECT_EQ(nodes->front().memory, "") << ran.out;
  const auto update =
      cluster.scontrol({"update", "nodename=n1", "state=drain", "reason=x", "Nonsense=y"});
  EXPECT_NE(update.status, 0);
  EXPECT_THAT(update.out + update.err, HasSubstr("Request aborted"));
  EXPECT_TRUE(cluster.nodes().at("n1").is("idle"));
}

TEST_F(ClusterTest, LeavesNoProcessAndNoFileBehind) {
  std::filesystem::path folder;
  {
    Cluster cluster({.nodes = 2});
    ASSERT_EQ(cluster.trouble(), "");
    folder = cluster.folder();
    const auto script = cluster.write("job", "#!/bin/sh\nsleep 1000\n");
    const auto id = cluster.submit(script);
    ASSERT_TRUE(cluster.wait_until("n1", [](const auto& node) { return node.is("mixed"); }));
  }
  for (const auto& each : other_processes()) ADD_FAILURE() << each.words << " is left";
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace muster::e2e
