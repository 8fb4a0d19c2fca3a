// SPDX-License-Identifier: Apache-2.0
// The command line of `muster-bench locate`, its report and its other files.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/locate/job.hpp"
#include "bench/locate/locate_command.hpp"
#include "bench/locate/simulation.hpp"
#include "lib/report/bench_checks.hpp"
#include "lib/report/report.hpp"
#include "tests/bench/command/command_run.hpp"
#include "tests/support/files.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench::locate {
namespace {

Ended run_locate(std::vector<const char*> words) {
  for (const auto* word : {"--backend", "sim", "--profile", "generic"}) words.push_back(word);
  return ended_of(run, words);
}

TEST(LocateCommandTest, NamesTheSlowHca) {
  const auto ended =
      run_locate({"--sim", "nodes=64,noise=1%,fault=slow_hca:17:3:0.48", "--format", "json"});
  EXPECT_EQ(ended.status, kExitUnhealthy) << ended.notes;
  const auto report = nlohmann::json::parse(ended.out);
  EXPECT_EQ(report["verdict"], "unhealthy");
  EXPECT_EQ(report["accused"], nlohmann::json({"sim17"}));
  EXPECT_EQ(report["findings"][0]["device"], "sim17");
  EXPECT_THAT(report["findings"][0]["message"].get<std::string>(),
              AllOf(HasSubstr("HCA 3: "), HasSubstr("48%"),
                    HasSubstr("not its partners or paths: slow with 2 different nodes")));
}

TEST(LocateCommandTest, ReportsTheRateWithoutCulpritsAndTheirCosts) {
  const auto ended = ended_of(run, {"--backend", "sim", "--profile", "nd96asr_v4", "--sim",
                                    "nodes=32,fault=slow_hca:17:3:0.5,fault=slow_node:4:0.8"});
  EXPECT_EQ(ended.status, kExitUnhealthy);
  EXPECT_THAT(
      ended.out,
      AllOf(HasSubstr("without sim[4,17] the other 30 nodes together reach 186.6 GB/s\n"),
            HasSubstr("Why not 200.0 GB/s: 8 HCAs of 200 Gb/s, whose PCIe links carry 252 GB/s\n"),
            HasSubstr("93.28 GB/s  reached with all nodes running\n"),
            HasSubstr("GB/s  sim17: HCA 3\n"), HasSubstr("GB/s  sim4\n"),
            HasSubstr("GB/s  protocol overhead (")));
}

TEST(LocateCommandTest, DrawsTheMatrixAsHtml) {
  const auto ended = run_locate(
      {"--sim", "nodes=8,fault=slow_node:2:0.5,fault=hang_link:5:6", "--format", "html"});
  EXPECT_EQ(ended.status, kExitUnhealthy);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("<title>sim2 - sim7: 93.75 GB/s</title>"),
                               HasSubstr("<title>sim5 - sim6: did not finish</title>")));
}

struct StatusCase {
  std::vector<const char*> words;
  int status;
  const char* text;
};

TEST(LocateCommandTest, TheExitStatusFollowsTheVerdict) {
  std::string large = "nodes=32,noise=1%";
  for (int node = 0; node < 32; ++node) large += fmt::format(",fault=slow_large:{}:32:0.7", node);
  for (const auto& [words, status, text] :
       {StatusCase{{"nodes=64,noise=3%"}, kExitHealthy, "all 64 nodes together reach 18"},
        {{"nodes=2"}, kExitUndecided, "not enough data"},
        {{"nodes=2,fault=hang:1"}, kExitUnhealthy, "no pair of nodes finishes"},
        {{"nodes=64,rate=120 GB/s", "--min-busbw", "185 GB/s"},
         kExitUnhealthy,
         "no node stands out, and the median of all pairs is"},
        {{"nodes=128,fault=congestion:2:0.7"}, kExitHealthy, "slow only while all nodes work"},
        {{"nodes=64,noise=1%,fault=slow_link:3:60:0.5", "--min-busbw", "170 GB/s"},
         kExitUnhealthy,
         "--exclude=sim3\n"},
        {{"nodes=64,fault=hang:6", "--min-busbw", "140 GB/s"},
         kExitUnhealthy,
         "without sim6 the other 63 nodes together reach"},
        {{large.c_str(), "--min-busbw", "100 GB/s"},
         kExitHealthy,
         "GB/s, 70% of what healthy pairs reach"},
        {{large.c_str(), "--min-busbw", "170 GB/s"}, kExitUnhealthy, "all 32 nodes together"},
        {{"nodes=40,noise=1%,fault=slow_large:3:40:0.5"}, kExitUndecided, "(--min-busbw)"},
        {{"nodes=8,fault=wrong:9:100"}, kExitUnhealthy, "bench.data"}}) {
    std::vector<const char*> all{"--sim"};
    all.insert(all.end(), words.begin(), words.end());
    const auto ended = run_locate(all);
    EXPECT_EQ(ended.status, status) << words.front() << ended.notes;
    EXPECT_THAT(ended.out, HasSubstr(text)) << words.front();
  }
}

TEST(LocateCommandTest, DrawsNoBandwidthIfNothingFinishes) {
  const auto ended = ended_of(
      run, {"--backend", "sim", "--profile", "nd96asr_v4", "--sim", "nodes=2,fault=hang:1"});
  EXPECT_EQ(ended.status, kExitUnhealthy);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("no pair of nodes finishes"),
                               Not(HasSubstr("reached with all nodes running"))));
  EXPECT_THAT(run_locate({"--sim", "nodes=2,fault=hang:1"}).out, HasSubstr("sim0    X\n"));
}

TEST(LocateCommandTest, SimulatesTheProfileThatJudges) {
  const auto rate_by = [](const char* profile, const char* sim) {
    const auto ended = ended_of(
        run, {"--backend", "sim", "--profile", profile, "--sim", sim, "--format", "json", "-v"});
    EXPECT_EQ(ended.status, kExitHealthy) << ended.notes;
    return nlohmann::json::parse(ended.out)["findings"][0]["observed"].get<double>();
  };
  EXPECT_NEAR(rate_by("nd96isr_h100_v5", "nodes=16"), 370, 10);
  EXPECT_NEAR(rate_by("nd96asr_v4", "nodes=16"), 187, 2);
  EXPECT_NEAR(rate_by("nd96asr_v4", "nodes=16,profile=nd96isr_h100_v5"), 370, 10);
}

// These nodes have one HCA and no GPU.
TEST(LocateCommandTest, FindsASlowNodeWithoutGpus) {
  for (const auto* profile : {"hb120rs_v3", "hb176rs_v4", "hc44rs", "hx176rs"}) {
    const auto ended = ended_of(
        run, {"--backend=sim", "--sim=nodes=8,fault=slow_node:1:0.1", "--profile", profile});
    EXPECT_EQ(ended.status, kExitUnhealthy) << profile;
    EXPECT_THAT(ended.out, HasSubstr("--exclude=sim1\n")) << profile;
  }
}

TEST(LocateCommandTest, AccusesANodeThatReceivesWrongData) {
  const auto list = (std::filesystem::path(::testing::TempDir()) / "wrong").string();
  const auto ended =
      run_locate({"--sim", "nodes=32,fault=wrong:5:9,fault=wrong:7:9,fault=slow_node:3:0.5",
                  "--format", "json", "--exclude", list.c_str()});
  EXPECT_EQ(ended.status, kExitUnhealthy) << ended.notes;
  const auto report = nlohmann::json::parse(ended.out);
  EXPECT_EQ(report["accused"], nlohmann::json({"sim3", "sim0"}));
  EXPECT_EQ(content_of(list), "sim[0,3]\n");
}

// The limit for two nodes is for 16 GiB, that for three and more for 32 GiB: both are judged.
TEST(LocateCommandTest, TheSizeIsThatOfTheLargestLimit) {
  const auto ended =
      ended_of(run, {"--backend=sim", "--profile=nd96isr_h100_v5", "--sim=nodes=16,rate=315 GB/s",
                     "--set=bench.job_all_reduce.0.size=32 GiB"});
  EXPECT_EQ(ended.status, kExitUnhealthy) << ended.notes;
  EXPECT_THAT(ended.out, HasSubstr("below its limit of 330.0"));
}

// Peers show who is slow. The job's limit for so many nodes decides whether that is a failure.
// Failed nodes are accused.
TEST(LocateCommandTest, NamesTheCulpritThatCostsTheJobMost) {
  constexpr auto kSlowHca = "--sim=nodes=32,noise=1%,fault=slow_hca:5:3:0.7";
  constexpr auto kH100 = "--profile=nd96isr_h100_v5";
  constexpr auto kA100 = "--profile=nd96asr_v4";
  using Words = std::vector<const char*>;
  for (const auto& [words, outcomes] :
       {std::pair<Words, Words>{{kSlowHca, "--min-busbw=200 GB/s"}, {"fail sim5", "fail job"}},
        {{kSlowHca, "--min-busbw=150 GB/s"}, {"fail sim5"}},
        {{kSlowHca, "--min-busbw=100 GB/s"}, {"warn sim5"}},
        {{"--sim=nodes=9,noise=3%,fault=slow_gpu:8:0:0.6", "--min-busbw=400 GB/s"},
         {"fail sim8", "fail job"}},
        {{"--sim=nodes=3,fault=slow_node:0:0.6", "--min-busbw=300 GB/s"},
         {"fail sim0", "fail job"}},
        {{"--sim=nodes=64,rate=131 GB/s,noise=1%,fault=slow_node:0:0.71", "--min-busbw=181 GB/s"},
         {"fail sim0", "fail job"}},
        // Two nodes need 300 GB/s, three and more 330.
        {{"--sim=nodes=64,noise=1%,fault=slow_node:63:0.85", kH100}, {"fail sim63"}},
        {{"--sim=nodes=64,noise=1%,fault=slow_node:63:0.93", kH100}, {"warn sim63"}},
        {{"--sim=nodes=64,noise=1%,fault=slow_node:5:0.85,fault=slow_hca:9:1:0.7,"
          "fault=slow_gpu:40:2:0.93",
          kH100},
         {"fail sim9", "fail sim5", "warn sim40"}},
        // A loss this small is searched for only because the job misses its limit.
        {{"--sim=nodes=64,noise=1%,fault=slow_node:7:0.955", kA100}, {"fail sim7"}},
        {{"--sim=nodes=12,noise=1%,fault=slow_hca:0:7:0.955", kA100}, {"fail sim0"}},
        // All nodes reach the limit of two nodes, and none that of the job, because of one device.
        {{"--sim=nodes=32,noise=1%,fault=slow_rail:4:0.85", kH100},
         {"fail device 4", "fail job"}}}) {
    auto all = words;
    append(all, {"--backend=sim", "--format=json"});
    if (all[1] != kH100 && all[1] != kA100) all.push_back("--profile=generic");
    const auto report = nlohmann::json::parse(ended_of(run, all).out);
    std::vector<std::string> found, accused;
    for (const auto& each : report["findings"]) {
      const auto outcome = each["outcome"].get<std::string>();
      const auto device = each["device"].get<std::string>();
      if (outcome == "fail" && device.starts_with("sim")) accused.push_back(device);
      if (outcome != "pass") found.push_back(fmt::format("{} {}", outcome, device));
    }
    EXPECT_THAT(found, ::testing::ElementsAreArray(outcomes)) << words[0] << ' ' << words[1];
    EXPECT_EQ(report.value("accused", std::vector<std::string>()), accused) << words[0];
  }
}

TEST(LocateCommandTest, ANodeThatReachesTheLimitIsAWarning) {
  const auto ended =
      run_locate({"--sim", "nodes=64,fault=slow_node:5:0.8", "--min-busbw", "100 GB/s"});
  EXPECT_EQ(ended.status, kExitHealthy);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("sim5"), Not(HasSubstr("is unhealthy")),
                               Not(HasSubstr("--exclude="))));
}

TEST(LocateCommandTest, RefusesInvalidOptions) {
  for (const auto& [words, error] :
       {std::pair<std::vector<const char*>, const char*>{{"--sim", "nods=4"},
                                                         "valid words: profile, nodes"},
        {{"--sim", "nodes=4,fault=slow_node:4:0.5"}, "expected 0 to 3"},
        {{"--strategy", "scren"}, "did you mean screen?"},
        {{"--node-tests", "gpu.copi"}, "did you mean gpu.copy?"},
        {{"--size", "1 MiB"}, "--size and --backend sim exclude each other"},
        {{"--per-repeat", "7"}, "--per-repeat and --backend sim exclude each other"},
        {{"--node-tests", "none"}, "--node-tests and --backend sim exclude each other"},
        {{"--csv", "same", "--matrix", "./same"}, "--matrix and --csv name the same file, same"},
        {{"--exclude", "same", "--output", "same"},
         "--exclude and --output name the same file, same"},
        {{"--sim", "noise=-1%"}, "--sim: noise: \"-1%\" is negative, expected at least 0"},
        {{"--sim", "noise=5"}, "--sim: noise: \"5\" has no unit; write %"}}) {
    const auto ended = run_locate(words);
    EXPECT_EQ(ended.status, kExitUsage);
    EXPECT_THAT(ended.notes, HasSubstr(error));
  }
  EXPECT_EQ(run_locate({"--topology", "/nowhere"}).status, kExitConfiguration);
}

TEST(LocateCommandTest, WritesThePairsAndTheListToExclude) {
  const auto folder = std::filesystem::path(::testing::TempDir());
  const auto json = (folder / "pairs.json").string();
  const auto csv = (folder / "pairs.csv").string();
  const auto list = (folder / "exclude").string();
  const auto ended = run_locate({"--sim", "nodes=8,fault=slow_node:2:0.5,fault=hang:6", "--matrix",
                                 json.c_str(), "--csv", csv.c_str(), "--exclude", list.c_str()});
  EXPECT_EQ(ended.status, kExitUnhealthy) << ended.notes;
  EXPECT_EQ(content_of(list), "sim[2,6]\n");
  EXPECT_THAT(ended.out, HasSubstr("--exclude=sim[2,6]\n"));
  EXPECT_THAT(ended.out, HasSubstr("sim2  # #   # # # X #\n"));
  const auto pairs = nlohmann::json::parse(content_of(json));
  EXPECT_EQ(pairs["schema"], "muster.pairs/1");
  EXPECT_EQ(pairs["pairs"].size(), 28U);
  EXPECT_THAT(content_of(csv), HasSubstr("sim0,sim6,\n"));
}

TEST(LocateCommandTest, PrintsTheReportIfAFileCannotBeWritten) {
  for (const auto* option : {"--csv", "--matrix", "--exclude", "--output"}) {
    const auto ended = run_locate({"--sim", "nodes=4,fault=slow_node:1:0.5", option, "/dev/full"});
    EXPECT_EQ(ended.status, kExitUndecided) << option;
    EXPECT_THAT(ended.out, HasSubstr("--exclude=sim1\n")) << option;
    EXPECT_THAT(ended.notes, HasSubstr(fmt::format("{}: write /dev/full: No space left", option)));
  }
  const auto early = run_locate({"--csv", "/nonexistent/pairs.csv"});
  EXPECT_EQ(early.status, kExitUndecided);
  EXPECT_THAT(early.notes,
              HasSubstr("--csv: create /nonexistent/pairs.csv: No such file or directory"));
}

TEST(LocateCommandTest, HasACheckThatCanBeExplained) {
  EXPECT_NE(find_bench_check("bench.locate"), nullptr);
}

TEST(LocateJobTest, KnowsTheRacksOfItsNodes) {
  const auto nodes = nodes_of(Agreement{.hosts = {"a", "b", "c", "d"},
                                        .places = {{0}, {1}, {2}, {3}},
                                        .domains = {"rack1", "", "rack1", "rack2"}});
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_FALSE(nodes->may_meet(0, 2));
  EXPECT_TRUE(nodes->may_meet(0, 1) && nodes->may_meet(0, 3) && nodes->may_meet(1, 3));
  EXPECT_FALSE(nodes->are_comparable({0, 2}));
  EXPECT_TRUE(nodes->are_comparable({0, 2, 3}));
}

// The nodes sim0, sim1, ... below the switches of this file.
Nodes nodes_below(std::string_view text, int count) {
  auto nodes = nodes_of({.nodes = count}, false);
  const auto done = set_topology(nodes, text, "topology.conf");
  EXPECT_TRUE(done) << done.error().message;
  return nodes;
}

TEST(LocateTopologyTest, ReadsTopologyConfAndPlainLines) {
  const auto nodes = nodes_below(
      "# the fabric\n"
      "SwitchName=leaf0 Nodes=sim[0-2] LinkSpeed=400\n"
      "switchname=leaf1 nodes=sim[3-4],other7\n"
      "SwitchName=spine Switches=leaf[0-1]\n",
      6);
  EXPECT_THAT(nodes.leaves, ElementsAre(0, 0, 0, 1, 1, kNoLeaf));
  EXPECT_THAT(nodes.leaf_names, ElementsAre("leaf0", "leaf1"));
  EXPECT_THAT(nodes.pods, ElementsAre(0, 0));
  EXPECT_THAT(nodes_below("a sim[0-1]\nb sim[2-5]\n", 6).leaves, ElementsAre(0, 0, 1, 1, 1, 1));
}

TEST(LocateTopologyTest, ALineMayContinueInTheNext) {
  const auto nodes = nodes_below(
      "SwitchName=a \\\n  Nodes=sim[0-1]\n"
      "SwitchName=b Nodes=sim2,\\\nsim9\n",
      4);
  EXPECT_THAT(nodes.leaves, ElementsAre(0, 0, 1, kNoLeaf));
}

TEST(LocateTopologyTest, ASwitchMayPrecedeThoseBelowIt) {
  const auto nodes = nodes_below(
      "SwitchName=core Switches=pod[0-1]\n"
      "SwitchName=pod1 Switches=c\n"
      "SwitchName=pod0 Switches=a,b\n"
      "SwitchName=a Nodes=sim0\nSwitchName=b Nodes=sim1\n"
      "SwitchName=c Nodes=sim2\nSwitchName=d Nodes=sim3\n",
      4);
  EXPECT_EQ(nodes.pod(0), nodes.pod(1));
  EXPECT_NE(nodes.pod(0), nodes.pod(2));
  EXPECT_EQ(nodes.pod(3), kNoLeaf);
}

TEST(LocateTopologyTest, ErrorsNameTheFileAndTheLine) {
  for (const auto& [text, error] :
       {std::pair{"a sim0\n\nb sim[1-\n", "t.conf:3: "},
        {"SwitchName=a Node=sim0", "t.conf:1: unknown word \"Node=sim0\""},
        {"SwitchName=a", "t.conf:1: no Nodes or Switches"},
        {"a sim0 sim1", "t.conf:1: expected a switch and the list of its nodes"},
        {"a sim0\nb sim0", "t.conf:2: sim0 already hangs from a"},
        {"a sim0\na sim1", "t.conf:2: duplicate switch \"a\""},
        {"a sim0\nb sim1 \\\n", "t.conf: the last line is incomplete"},
        {"a gpu0", "t.conf: names none of the nodes of this run"}}) {
    auto nodes = nodes_of({.nodes = 4}, false);
    const auto done = set_topology(nodes, text, "t.conf");
    ASSERT_FALSE(done) << text;
    EXPECT_THAT(done.error().message, ::testing::StartsWith(error));
  }
}

}  // namespace
}  // namespace muster::bench::locate
