// SPDX-License-Identifier: Apache-2.0
// `muster profiles make`: the profile that it writes loads and judges the node healthy. It refuses
// sick nodes, garbled input and invalid names.

#include "checks/app/commands.hpp"
#include "checks/app/inspect.hpp"
#include "checks/make_profile/make_profile.hpp"
#include "checks/run.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/saved_node.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

Result<Profile> loaded(const MadeProfile& made) {
  const TempDir folder;
  folder.write("made.yaml", made.yaml);
  return read_profile_of({}, (folder.path() / "made.yaml").string());
}

TEST(MakeProfileTest, IsACompleteProfileThatTheNodeSatisfies) {
  const auto node = saved_node("simulated/nd96isr_h100_v5");
  const auto made = make_profile("made", {node});
  const auto profile = loaded(made);
  ASSERT_TRUE(profile) << profile.error().message << "\n" << made.yaml;
  EXPECT_EQ(profile->gpu->present.count, 8);
  EXPECT_EQ(profile->pci->link.gpu.width, 16);
  EXPECT_THAT(made.missing, Contains(HasSubstr("NVML reports no GPUs")));
  EXPECT_EQ(profile->ib->rate.width, IbWidth::x4);
  EXPECT_EQ(profile->host->cpu.cores, 96);
  const auto report = judge(node, *profile, {});
  for (const auto& finding : report.findings) {
    EXPECT_NE(finding.outcome, Outcome::fail) << finding.check << ": " << finding.message;
  }
  EXPECT_THAT(made.yaml, HasSubstr("count: 8  # this node"));
}

// The hypervisor numbers PCI domains differently on each machine.
TEST(MakeProfileTest, NamesInterfacesOfVirtualMachinesByTheirRdmaDevice) {
  const auto node = saved_node("simulated/nd96isr_h100_v5");
  const auto profile = loaded(make_profile("made", {node}));
  ASSERT_TRUE(profile);
  auto sister = node;
  for (auto& each : sister.network->interfaces) {
    if (each.name.starts_with("enP")) each.name = "enP50001s1";
  }
  ASSERT_NE(sister.network.facts, node.network.facts);
  EXPECT_EQ(judge(sister, *profile, {.only = {"host.ethernet"}}).verdict, Verdict::healthy);
  ASSERT_EQ(profile->host->ethernet.interfaces.size(), 1U);
  EXPECT_TRUE(profile->host->ethernet.interfaces.front().rdma);
}

TEST(MakeProfileTest, TheMajorityOfNodesDecides) {
  const auto node = saved_node("simulated/nd96isr_h100_v5");
  auto odd = node;
  odd.cpu->threads = 95U;
  const auto made = make_profile("made", {node, odd, node});
  EXPECT_THAT(made.yaml, HasSubstr("threads: 96  # 2 of 3 nodes"));
  const auto half = make_profile("made", {node, odd});
  EXPECT_THAT(half.missing, Contains(HasSubstr("host.cpu.threads: the nodes differ")));
  EXPECT_TRUE(loaded(half));
}

TEST(MakeProfileTest, AValueThatDiffersBetweenDevicesIsNotSet) {
  auto node = saved_node("simulated/nd96isr_h100_v5");
  node.infiniband->hcas.at(7).ports->at(0).rate_gbps = 200.0;
  const auto profile = loaded(make_profile("made", {node}));
  ASSERT_TRUE(profile);
  EXPECT_FALSE(profile->ib->rate.expected);
}

TEST(MakeProfileTest, AVendorsTextIsQuoted) {
  auto node = saved_node("simulated/nd96isr_h100_v5");
  node.identity->hypervisor = false;
  node.identity->dmi_product = std::string("GX \"8\" \\ [rev: *] # {x}");
  const auto made = make_profile("made", {node});
  const auto profile = loaded(made);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->recognise.dmi_product, "GX \"8\" ? ?rev: ?? # {x}");
}

TEST(MakeProfileTest, ANodeWithoutDevicesMakesAProfile) {
  Snapshot bare;
  const auto made = make_profile("made", {bare});
  EXPECT_TRUE(loaded(made)) << made.yaml;
  EXPECT_FALSE(made.missing.empty());
}

class MakeProfileCommandTest : public ::testing::Test {
 protected:
  int run(const std::string& name, const std::vector<std::string>& files) {
    const auto caller = caller_.caller();
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    return run_make_profile({.make = name, .snapshots = files, .root = folder_.path().string()},
                            caller, deadline);
  }

  std::string file(const std::string& name, const Snapshot& snapshot) {
    folder_.write(name, to_json(snapshot));
    return (folder_.path() / name).string();
  }

  static Snapshot sick() {
    auto node = saved_node("simulated/nd96isr_h100_v5");
    auto& port = node.infiniband->hcas.at(2).ports->at(0);
    port.rate_gbps = 200.0;
    port.width = 2U;
    return node;
  }

  TempDir folder_;
  TestCaller caller_;
};

TEST_F(MakeProfileCommandTest, WritesAProfileFromSnapshots) {
  const auto node = file("a.json", saved_node("simulated/nd96isr_h100_v5"));
  EXPECT_EQ(run("trainer", {node}), kExitHealthy) << caller_.notes();
  EXPECT_THAT(caller_.out(), HasSubstr("name: \"trainer\""));
}

TEST_F(MakeProfileCommandTest, RefusesASickNodeAndNamesItsFault) {
  EXPECT_EQ(run("trainer", {file("a.json", sick())}), kExitUnhealthy);
  EXPECT_THAT(caller_.notes(), HasSubstr("it is sick: ib.rate mlx5_ib2: "));
  EXPECT_THAT(caller_.out(), IsEmpty());
}

TEST_F(MakeProfileCommandTest, SkipsSickNodes) {
  const auto node = saved_node("simulated/nd96isr_h100_v5");
  EXPECT_EQ(run("trainer", {file("a.json", node), file("b.json", sick()), file("c.json", node)}),
            kExitHealthy);
  EXPECT_THAT(caller_.notes(), HasSubstr("skipping "));
  EXPECT_THAT(caller_.out(), HasSubstr("# 2 of 2 nodes"));
}

TEST_F(MakeProfileCommandTest, RefusesAFileThatIsNotASnapshot) {
  folder_.write("a.json", "{\"schema\": ");
  EXPECT_EQ(run("trainer", {(folder_.path() / "a.json").string()}), kExitUndecided);
  EXPECT_THAT(caller_.notes(), HasSubstr("a.json: "));
  EXPECT_EQ(run("trainer", {(folder_.path() / "none.json").string()}), kExitUndecided);
}

TEST_F(MakeProfileCommandTest, RefusesInvalidAndShippedNames) {
  for (const auto* name :
       {"", "../x", "a b", "-x", ".x", "x.yaml", "generic", "defaults", "nd96isr_h100_v5"}) {
    EXPECT_EQ(run(name, {}), kExitUsage) << name;
  }
}

}  // namespace
}  // namespace muster::app
