// SPDX-License-Identifier: Apache-2.0
// Slurm's programs are scripts here, which record what they were given.
#include "slurm/cluster/controller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/text.hpp"
#include "tests/slurm/fake_programs.hpp"

namespace muster::slurm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

constexpr std::string_view kAlone =
    "n1|gpu|idle|Unknown|Unknown|none\n"
    "n1|all|idle|Unknown|Unknown|none\n";
constexpr std::string_view kCluster =
    "n1|gpu|idle|Unknown|Unknown|none\n"
    "n2|gpu|drained|root|1795326230|muster: a.b x: y; reboot\n"
    "n1|all|idle|Unknown|Unknown|none\n"
    "n3|all|down*|slurm|1795326231|Not responding\n";

class ControllerTest : public testing::Test, protected FakePrograms {
 protected:
  ControllerTest() {
    answer("alone", kAlone);
    answer("cluster", kCluster);
    script("sinfo",
           R"(case "$*" in *" -n "*) f=alone ;; *) f=cluster ;; esac; fake_sinfo "$@" <"$D/$f")");
    script("scontrol", ":");
  }

  void answer(std::string_view name, std::string_view content) const { dir.write(name, content); }

  [[nodiscard]] std::vector<std::string> calls() const {
    const auto text = read("calls");
    const auto lines = split_lines(text);
    return {lines.begin(), lines.end()};
  }

  // The eight digits behind the last field.
  static std::string nonce_of(const std::string& call) {
    const auto end = call.find(".]");
    return end == std::string::npos ? "" : call.substr(end - 8, 8);
  }

  [[nodiscard]] std::unique_ptr<Controller> controller(Clock::duration one = 20s,
                                                       Clock::duration all = 60s) const {
    return make_controller(installation(rules()), limits(one, all));
  }

  // With this in place of `memory: extra`.
  [[nodiscard]] std::unique_ptr<Controller> controller_with(std::string memory) const {
    auto other = rules();
    other.memory = std::move(memory);
    return make_controller(installation(other), limits());
  }
};

TEST_F(ControllerTest, ReadsAllNodesOfTheNodesPartitions) {
  const auto nodes = controller()->nodes("n1");
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 3);
  EXPECT_EQ((*nodes)[0].name, "n1");
  EXPECT_THAT((*nodes)[0].partitions, ElementsAre("gpu", "all"));
  EXPECT_EQ((*nodes)[1].reason, "muster: a.b x: y; reboot");
  EXPECT_EQ((*nodes)[1].since, Time(1795326230s));
  EXPECT_EQ((*nodes)[2].name, "n3");
  EXPECT_THAT(
      calls(),
      ElementsAre(MatchesRegex(R"(\[sinfo]\[--local]\[-h]\[-N]\[-O]\[[^]]*]\[-a]\[-n]\[n1])"),
                  MatchesRegex(R"(\[sinfo]\[--local]\[-h]\[-N]\[-O]\[[^]]*]\[-p]\[gpu,all])")));
  EXPECT_NE(nonce_of(calls()[0]), nonce_of(calls()[1]));
}

TEST_F(ControllerTest, ReadsTheWholeClusterInOneCall) {
  const auto nodes = controller()->nodes("");
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ(nodes->size(), 3);
  ASSERT_EQ(calls().size(), 1);
  EXPECT_EQ(calls()[0], fmt::format("[sinfo][--local][-h][-N][-O][{}][-a]",
                                    sinfo_format("Extra", nonce_of(calls()[0]))));
}

TEST_F(ControllerTest, TheProgramsGetAnEnvironmentOfTheirOwn) {
  ::setenv("SINFO_FORMAT", "%all", 1);
  ASSERT_TRUE(controller()->nodes("n1"));
  ::unsetenv("SINFO_FORMAT");
  EXPECT_EQ(read("environment"),
            fmt::format("LANG=C\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\nSLURM_CONF={}/slurm.conf\n"
                        "SLURM_TIME_FORMAT=%s\n",
                        path()));
}

TEST_F(ControllerTest, DrainsAndResumesOneNode) {
  EXPECT_TRUE(controller()->drain("n-1.a_b", "muster: a.b gpu3: x; reboot the node", {}));
  EXPECT_TRUE(controller()->resume("n-1.a_b", {}));
  EXPECT_EQ(read("calls"),
            "[scontrol][update][nodename=n-1.a_b][state=drain]"
            "[reason=muster: a.b gpu3: x; reboot the node]\n"
            "[scontrol][update][nodename=n-1.a_b][state=resume]\n");
}

TEST_F(ControllerTest, TheMemoryIsSentInTheSameRequest) {
  constexpr std::string_view kMemory = "muster/1 clean=0 drains=1";
  EXPECT_TRUE(controller()->drain("n1", "muster: a.b: x", std::string(kMemory)));
  EXPECT_TRUE(controller()->resume("n1", ""));
  EXPECT_TRUE(controller()->remember("n1", kMemory));
  const auto programs = controller_with("none");
  EXPECT_TRUE(programs->drain("n1", "r", std::string(kMemory)));
  EXPECT_TRUE(programs->remember("n1", kMemory));
  EXPECT_THAT(calls(),
              ElementsAre("[scontrol][update][nodename=n1][state=drain][reason=muster: a.b: x]"
                          "[Extra=muster/1 clean=0 drains=1]",
                          "[scontrol][update][nodename=n1][state=resume][Extra=]",
                          "[scontrol][update][nodename=n1][Extra=muster/1 clean=0 drains=1]",
                          "[scontrol][update][nodename=n1][state=drain][reason=r]"));
}

TEST_F(ControllerTest, DrainsWithAScontrolThatLacksTheField) {
  script(
      "scontrol",
      "case \"$*\" in *Comment=*) echo 'Update of this parameter is not supported: Comment=x' >&2;"
      " echo 'Request aborted' >&2; exit 1 ;; esac");
  const auto programs = controller_with("comment");
  EXPECT_TRUE(programs->drain("n1", "r", "muster/1"));
  EXPECT_EQ(calls().back(), "[scontrol][update][nodename=n1][state=drain][reason=r]");
  EXPECT_FALSE(programs->remember("n1", "muster/1"));
}

TEST_F(ControllerTest, ReadsTheMemoryOfEachNode) {
  answer("cluster", "n1|gpu|idle|Unknown|Unknown|none\tmuster/1 clean=2\n");
  EXPECT_EQ(controller()->nodes("n1")->front().memory, "muster/1 clean=2");
}

TEST_F(ControllerTest, OnlyTheNameOfOneNodeReachesACommandLine) {
  const auto programs = controller();
  for (const std::string name : {"n1,n2", "n[1-3]", "n1 n2", "ALL", "all", "n1\n", "n1=", "ü"}) {
    EXPECT_FALSE(programs->drain(name, "r", {})) << name;
    EXPECT_FALSE(programs->resume(name, {})) << name;
    EXPECT_FALSE(programs->nodes(name)) << name;
  }
  EXPECT_FALSE(programs->drain("", "r", {}));
  EXPECT_EQ(programs->drain("n[1-3]", "r", {}).error().message,
            "\"n[1-3]\" is not the name of one node");
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "calls"));
}

TEST_F(ControllerTest, ReportsTheProgramsMessage) {
  script("scontrol", "echo 'a warning' >&2; echo 'slurm_update error: Invalid node' >&2; exit 1");
  EXPECT_EQ(controller()->drain("n1", "r", {}).error().message,
            "scontrol ended with status 1: slurm_update error: Invalid node");
  script("sinfo", "exit 3");
  EXPECT_EQ(controller()->nodes("n1").error().message, "sinfo ended with status 3: no output");
  EXPECT_EQ(controller()->nodes("").error().message, "sinfo ended with status 3: no output");
}

TEST_F(ControllerTest, OneCallEndsWithinItsDeadline) {
  script("sinfo", "exec sleep 60");
  script("scontrol", "exec sleep 60");
  const auto begun = Clock::now();
  EXPECT_EQ(controller(200ms)->nodes("n1").error().message, "sinfo did not answer within 0.2 s");
  EXPECT_EQ(controller(200ms)->drain("n1", "r", {}).error().message,
            "scontrol did not answer within 0.2 s");
  EXPECT_LT(Clock::now() - begun, 30s);
}

TEST_F(ControllerTest, AllCallsEndTogether) {
  script("sinfo",
         R"(case "$*" in *" -n "*) fake_sinfo "$@" <"$D/alone" ;; *) exec sleep 60 ;; esac)");
  const auto begun = Clock::now();
  const auto programs = controller(50s, 300ms);
  EXPECT_FALSE(programs->nodes("n1"));
  EXPECT_EQ(programs->resume("n1", {}).error().message,
            "scontrol was not started: no time is left");
  EXPECT_LT(Clock::now() - begun, 30s);
}

TEST_F(ControllerTest, ANodeThatSlurmDoesNotKnowIsMissing) {
  answer("alone", "");
  const auto nodes = controller()->nodes("n1");
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error(), (Error{.message = "no Slurm partition has a node n1", .missing = true}));
}

// Slurm before 23.02 lists a node of a cloud that is powered down only if it is asked for alone.
TEST_F(ControllerTest, ANodeMissingInItsPartitionsIsAskedForAlone) {
  answer("cluster", "n2|gpu|idle|Unknown|Unknown|none\n");
  const auto nodes = controller()->nodes("n1");
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_THAT(*nodes, ElementsAre(testing::Field(&NodeState::name, "n2"),
                                  testing::Field(&NodeState::name, "n1")));
  EXPECT_EQ(controller()->node("n1")->state, "idle");
}

TEST_F(ControllerTest, AllNodesIncludeThoseThatAreListedOnlyAlone) {
  script("scontrol", R"(echo "PartitionName=gpu AllocNodes=ALL Nodes=n[1-3] State=UP"
echo "PartitionName=all Nodes=n[4-5] State=UP"
echo "PartitionName=none Nodes=(null) State=UP")");
  script("sinfo", R"(case "$*" in
  *" -n n4") echo "n4|all|drained~|root|1795326230|muster: a.b: x" | fake_sinfo "$@" ;;
  *" -n "*) ;;
  *) fake_sinfo "$@" <"$D/cluster" ;;
esac)");
  const auto all = all_nodes(*controller());
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->nodes.size(), 4U);
  EXPECT_EQ(all->nodes.back().state, "drained~");
  EXPECT_THAT(all->hidden, ElementsAre("n5"));
  script("scontrol", "exit 1");
  EXPECT_EQ(all_nodes(*controller())->nodes.size(), 3U);
}

TEST_F(ControllerTest, ThousandsOfHiddenNodesAreNotAskedAbout) {
  script("scontrol", "echo 'PartitionName=gpu Nodes=n[1-3],c[1-2000]'");
  const auto all = all_nodes(*controller());
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->nodes.size(), 3U);
  EXPECT_EQ(all->hidden.size(), 2000U);
  EXPECT_EQ(calls().size(), 2U);
}

TEST_F(ControllerTest, KnowsNodesOfACloud) {
  script("scontrol", "echo 'NodeName=n1 State=IDLE+CLOUD+DRAIN ThreadsPerCore=1'");
  EXPECT_TRUE(controller()->is_cloud_node("n1"));
  for (const auto* const line : {"echo 'NodeName=CLOUD State=IDLE+DRAIN'", "exit 1"}) {
    script("scontrol", line);
    EXPECT_FALSE(controller()->is_cloud_node("n1"));
  }
}

TEST_F(ControllerTest, GarbageIsAnError) {
  answer("alone", "\x01 not sinfo\n");
  EXPECT_FALSE(controller()->nodes("n1"));
  answer("cluster", "n1|gpu\n");
  EXPECT_FALSE(controller()->nodes(""));
}

TEST_F(ControllerTest, ALongAnswerIsAnError) {
  script("sinfo", "exec yes");
  EXPECT_THAT(controller()->nodes("").error().message, StartsWith("sinfo wrote more than"));
}

TEST_F(ControllerTest, FindsThePrograms) {
  script("sbatch", ":");
  const auto found = installation(rules());
  EXPECT_EQ(found.scontrol, dir.path() / "scontrol");
  EXPECT_EQ(found.sinfo, dir.path() / "sinfo");
  EXPECT_EQ(found.sbatch, dir.path() / "sbatch");
  EXPECT_EQ(found.conf, dir.path() / "slurm.conf");
}

TEST_F(ControllerTest, NamesAMissingProgramAndTheKey) {
  dir.remove("sinfo");
  dir.write("sinfo", "not executable");
  const auto found = find_installation(rules(), {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            fmt::format("no sinfo in {}; slurm.programs in muster.yaml names other folders",
                        rules().programs));
}

TEST_F(ControllerTest, TheVariableComesBeforeTheRules) {
  dir.write("other.conf", "");
  const auto other = fmt::format("{}/other.conf", path());
  const auto found = installation(rules(), {{"SLURM_CONF", other}});
  EXPECT_EQ(found.conf, other);
  EXPECT_EQ(value_of(found.environment, "SLURM_CONF"), other);
  EXPECT_EQ(installation(rules(), {{"SLURM_CONF", ""}}).conf, dir.path() / "slurm.conf");
}

TEST_F(ControllerTest, ANamedConfigurationMustExist) {
  dir.remove("slurm.conf");
  EXPECT_EQ(find_installation(rules(), {}).error().message,
            fmt::format("slurm.conf in muster.yaml names a missing file: {}/slurm.conf", path()));
  EXPECT_EQ(find_installation(rules(), {{"SLURM_CONF", "/nowhere/slurm.conf"}}).error().message,
            "SLURM_CONF names a missing file: /nowhere/slurm.conf");
  EXPECT_EQ(find_installation(rules(), {{"SLURM_CONF", "slurm.conf"}}).error().message,
            "SLURM_CONF: \"slurm.conf\" is not an absolute path");
}

TEST_F(ControllerTest, LooksForSlurmConfInTheUsualPlaces) {
  auto unnamed = rules();
  unnamed.conf = "";
  const auto found = installation(unnamed);
  EXPECT_EQ(found.conf.filename(), found.conf.empty() ? "" : "slurm.conf");
  EXPECT_EQ(found.environment.count("SLURM_CONF"), found.conf.empty() ? 0 : 1);
}

TEST_F(ControllerTest, ProgramsGetTheServerIfThereIsNoFile) {
  auto unnamed = rules();
  unnamed.conf = "";
  const auto found = installation(unnamed, {{"SLURM_CONF_SERVER", "ctl1:6817,ctl2"}});
  EXPECT_EQ(value_of(found.environment, "SLURM_CONF_SERVER"),
            found.conf.empty() ? "ctl1:6817,ctl2" : "");
  const auto with_file = installation(rules(), {{"SLURM_CONF_SERVER", "ctl1"}});
  EXPECT_EQ(with_file.environment.count("SLURM_CONF_SERVER"), 0);
}

TEST_F(ControllerTest, ProgramsFetchTheirConfigurationWithoutAFile) {
  auto configless = installation(rules());
  configless.conf.clear();
  configless.environment.erase("SLURM_CONF");
  const auto programs = make_controller(configless, limits());
  EXPECT_TRUE(programs->nodes("n1"));
  script("sinfo",
         "echo 'sinfo: error: fetch_config: DNS SRV lookup failed' >&2\n"
         "echo 'sinfo: fatal: Could not establish a configuration source' >&2; exit 1");
  const auto none = programs->nodes("n1");
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().missing);
  EXPECT_THAT(none.error().message, StartsWith("no slurm.conf at /etc/slurm/slurm.conf, "));
  EXPECT_THAT(
      none.error().message,
      HasSubstr("/usr/local/etc/slurm.conf; slurm.conf in muster.yaml names another place"));
  configless.environment["SLURM_CONF_SERVER"] = "ctl1";
  EXPECT_THAT(
      make_controller(configless, limits())->names().error().message,
      HasSubstr("/usr/local/etc/slurm.conf, nor from SLURM_CONF_SERVER=ctl1; slurm.conf in"));
}

TEST_F(ControllerTest, ReadsTheNamesOfNodesAndOfTheirHosts) {
  script("sinfo", "printf 'n1|gpu-1\\nn2|gpu-2\\nn1|gpu-1\\n'");
  const auto names = controller()->names();
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_THAT(*names, ElementsAre(NodeName{"n1", "gpu-1"}, NodeName{"n2", "gpu-2"}));
  EXPECT_EQ(read("calls"), "[sinfo][--local][-h][-N][-o][%N|%n][-a]\n");
}

}  // namespace
}  // namespace muster::slurm
